-- For push and next: a message with a schedule declares the one that has its key, if that has a
-- schedule, too. declare_message(): returns the id of that one, which is what the record says from now
-- on, or nothing. It keeps its id, and while it is leased all that concerns the lease.
local declare_ids, declare_dues, declare_histories, declare_texts = {}, {}, {}, {}
local function declare_message(key, record, due, repeats)
  local holder = keys_holders[key]
  local was = holder and string.match(holder, '^%l.*$', 28)
  if not was then return nil end
  local id = string.sub(holder, 1, 26)
  local where = staged_older[id] or staged_records[id] and 'due' or state_of(id)
  if where ~= 'due' and where ~= 'leased' then return nil end
  if was == repeats then return id end
  if not staged_older[id] and not staged_records[id] then
    staged_older[id], declare_ids[#declare_ids + 1] = where, id
    local h = where == 'due' and partition_tried > 0 and redis.call('HGET', KEYS[1], 'h:' .. id)
    if h then
      local deliveries, _, how, doubt = history_parse(h)
      declare_histories[#declare_histories + 1] = 'h:' .. id
      declare_histories[#declare_histories + 1] = history_counts(deliveries, deliveries) .. ' 0 ' .. how .. doubt
      declare_texts[#declare_texts + 1] = 'f:' .. id
    end
  end
  staged_records[id] = record
  if where == 'due' then declare_dues[id] = due end
  keys_take(key, id, 0, repeats)
  return id
end
-- declare_write(): writes what became of the histories, before keys_write() removes any.
local function declare_write()
  if #declare_histories == 0 then return end
  redis.call('HSET', KEYS[1], unpack(declare_histories))
  redis.call('HDEL', KEYS[1], unpack(declare_texts))
end
