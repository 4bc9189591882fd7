-- Where a queue keeps done messages.
-- done_add(): a message ends; how: a acked, c cancelled, e expired; deliveries, one that is under
-- way included. A body of more than WHOLE bytes is left out.
-- done_write(): writes what was added, and removes as many that are over the limits. Call it before the
-- records are removed.
local done_add, done_write
if partition_keeps_done then
  local WHOLE = 262144
  local ids, heads, records, sizes, keys, keyed, n, noted = {}, {}, {}, {}, {}, {}, 0, false
  fetch_budget = fetch_budget / 2 -- records are copied twice
  function done_add(id, record, h, how, deliveries)
    local most, _, key, start, _, name = record_parse(record)
    if not most then return end
    local size, before = '', '1 0 '
    if h or deliveries ~= 1 then
      local _, failures, _, _, _, snoozes, earlier = history_parse(h)
      before = history_counts(deliveries, earlier) .. ' ' .. history_counts(failures, snoozes) .. ' '
    end
    if #record - start > WHOLE then record, size = string.sub(record, 1, start), '+' .. #record - start end
    n, noted = n + 1, noted or h
    ids[n], records[n], sizes[n], heads[n] = id, record, size, before .. how .. ' '
    key = name or key
    if key ~= '' then keys[#keys + 1], keyed[#keyed + 1] = key, id end
  end
  -- index(): adds to fields what becomes of the index by key.
  local function index(fields)
    if #keys == 0 then return end
    local lists = redis.call('HMGET', KEYS[8], unpack(fields_of('d:', keys)))
    local newest = tonumber(redis.call('ZRANGE', KEYS[7], -2, -2, 'WITHSCORES')[2])
    for i, key in ipairs(keys) do
      local list, at = keyed[i], {}
      if lists[i] then
        local others = index_ids(lists[i])
        if newest > clock_now then at = redis.call('ZMSCORE', KEYS[7], unpack(others)) end
        list = index_with(others, at, keyed[i], clock_now)
      end
      fields[#fields + 1], fields[#fields + 2] = 'd:' .. key, list
      fields[#fields + 1], fields[#fields + 2] = 'e:' .. keyed[i], key
    end
  end
  function done_write()
    if n == 0 then return end
    local texts = noted and redis.call('HMGET', KEYS[1], unpack(fields_of('f:', ids))) or {}
    local fields, scores, at = {}, {}, string.format('%d', clock_now)
    for i, id in ipairs(ids) do
      local text = texts[i]
      fields[2 * i - 1] = id
      fields[2 * i] = heads[i] .. (text and #text or '0') .. sizes[i] .. ' ' .. (text or '') .. records[i]
      scores[2 * i - 1], scores[2 * i] = at, id
    end
    redis.call('ZREM', KEYS[3], '-')
    -- A message that was sent again under the id of a done one replaces that.
    if redis.call('ZADD', KEYS[7], 'NX', unpack(scores)) < n then
      index_remove(KEYS[8], ids)
      redis.call('ZADD', KEYS[7], unpack(scores))
    end
    index(fields)
    redis.call('HSET', KEYS[8], unpack(fields))
    donelimits_apply(n)
    ids, heads, records, sizes, keys, keyed, n, noted = {}, {}, {}, {}, {}, {}, 0, false
  end
end
