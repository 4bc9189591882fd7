-- Where a queue keeps done messages. lay(): a message ends; how: a acked, c cancelled, e
-- expired; deliveries, one that is under way included. A body of more than WHOLE bytes is left
-- out. shelve() writes down what was laid, and sheds as many; to be called before the records
-- are removed.
local WHOLE = 262144
BUDGET = BUDGET / 2 -- records are copied twice
local laid, heads, kept, sizes, keys, owners, n, noted = {}, {}, {}, {}, {}, {}, 0, false
lay = function(id, record, h, how, deliveries)
  local most, _, key, start, _, name = parse(record)
  if not most then return end
  local size, before = '', '1 0 '
  if h or deliveries ~= 1 then
    local _, failures, _, _, _, snoozes, earlier = past(h)
    before = counted(deliveries, earlier) .. ' ' .. counted(failures, snoozes) .. ' '
  end
  if #record - start > WHOLE then record, size = string.sub(record, 1, start), '+' .. #record - start end
  n, noted = n + 1, noted or h
  laid[n], kept[n], sizes[n], heads[n] = id, record, size, before .. how .. ' '
  key = name or key
  if key ~= '' then keys[#keys + 1], owners[#owners + 1] = key, id end
end
-- relisted(): adds to fields what becomes of the index by key.
local function relisted(fields)
  if #keys == 0 then return end
  local lists = redis.call('HMGET', KEYS[8], unpack(prefixed('d:', keys)))
  local newest = tonumber(redis.call('ZRANGE', KEYS[7], -2, -2, 'WITHSCORES')[2])
  for i, key in ipairs(keys) do
    local list, at = owners[i], {}
    if lists[i] then
      local ids = ids_of(lists[i])
      if newest > now then at = redis.call('ZMSCORE', KEYS[7], unpack(ids)) end
      list = listed(ids, at, owners[i], now)
    end
    fields[#fields + 1], fields[#fields + 2] = 'd:' .. key, list
    fields[#fields + 1], fields[#fields + 2] = 'e:' .. owners[i], key
  end
end
shelve = function()
  if n == 0 then return end
  local texts = noted and redis.call('HMGET', KEYS[1], unpack(prefixed('f:', laid))) or {}
  local fields, scores, at = {}, {}, string.format('%d', now)
  for i, id in ipairs(laid) do
    local text = texts[i]
    fields[2 * i - 1] = id
    fields[2 * i] = heads[i] .. (text and #text or '0') .. sizes[i] .. ' ' .. (text or '') .. kept[i]
    scores[2 * i - 1], scores[2 * i] = at, id
  end
  redis.call('ZREM', KEYS[3], '-')
  -- One that ended before, and was sent again under its id, takes its own place.
  if redis.call('ZADD', KEYS[7], 'NX', unpack(scores)) < n then
    unlist(laid)
    redis.call('ZADD', KEYS[7], unpack(scores))
  end
  relisted(fields)
  redis.call('HSET', KEYS[8], unpack(fields))
  shed(n)
  laid, heads, kept, sizes, keys, owners, n, noted = {}, {}, {}, {}, {}, {}, 0, false
end
