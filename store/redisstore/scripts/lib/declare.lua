-- For push: a message with a schedule declares the one that has its key, if that has a
-- schedule, too. declare(): returns the id of that one, which is what the record says from now
-- on, or nothing. It keeps its id, and while it is leased all that concerns the lease.
local declared, dues, resets, texts = {}, {}, {}, {}
local function declare(key, record, due, repeats)
  local holder = owner[key]
  local was = holder and string.match(holder, '^%l.*$', 28)
  if not was then return nil end
  local id = string.sub(holder, 1, 26)
  local where = older[id] or state[id] and 'due' or place(id)
  if where ~= 'due' and where ~= 'leased' then return nil end
  if was == repeats then return id end
  if not older[id] and not state[id] then
    older[id], declared[#declared + 1] = where, id
    local h = where == 'due' and tried > 0 and redis.call('HGET', KEYS[1], 'h:' .. id)
    if h then
      local deliveries, _, how, doubt = past(h)
      resets[#resets + 1], resets[#resets + 2] = 'h:' .. id, counted(deliveries, deliveries) .. ' 0 ' .. how .. doubt
      texts[#texts + 1] = 'f:' .. id
    end
  end
  state[id] = record
  if where == 'due' then dues[id] = due end
  take(key, id, 0, repeats)
  return id
end
-- What is to be written of messages: their records, and when they are due unless that has been
-- declared otherwise, or they are leased.
local records, scores = {}, {}
local function write(id, due)
  due = dues[id] or due
  if not state[id] then return end
  records[#records + 1], records[#records + 2] = id, state[id]
  if not due then return end
  scores[#scores + 1], scores[#scores + 2] = digits(due), id
  earliest = math.min(earliest, due)
end
-- revise(): writes what became of the histories, before evict() removes any.
local function revise()
  if #resets == 0 then return end
  redis.call('HSET', KEYS[1], unpack(resets))
  redis.call('HDEL', KEYS[1], unpack(texts))
end
