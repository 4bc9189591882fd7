-- Makes messages dead: dead_add() of each, then dead_write() before plan_write(). Their records and
-- histories stay, their keys are free, but they can be found by them. One without a
-- readable record gets an empty one, so that it is listed and counted, never delivered. name: the
-- key of one that does not hold it.
-- entries: times of death and ids; keyed: the messages that have a key, keys: theirs.
local dead_entries, dead_keys, dead_keyed = {}, {}, {}
local function dead_add(id, key, readable, name)
  dead_entries[#dead_entries + 1], dead_entries[#dead_entries + 2] = instant_text(clock_now), id
  plan_unkey(key)
  name = name or key
  if name and name ~= '' then dead_keys[#dead_keys + 1], dead_keyed[#dead_keyed + 1] = name, id end
  if not readable then
    plan_records[#plan_records + 1], plan_records[#plan_records + 2] = id, '\1' .. string.rep('\0', 11)
  end
end
local function dead_write()
  if #dead_entries == 0 then return end
  redis.call('ZREM', KEYS[3], '-')
  redis.call('ZADD', KEYS[5], unpack(dead_entries))
  counter_add('dead_lettered', #dead_entries / 2)
  dead_entries = {}
  if #dead_keys == 0 then return end
  local lists = redis.call('HMGET', KEYS[1], unpack(fields_of('d:', dead_keys)))
  for i, key in ipairs(dead_keys) do
    local ids = index_ids(lists[i])
    local at = #ids > 0 and redis.call('ZMSCORE', KEYS[5], unpack(ids)) or {}
    plan_fields[#plan_fields + 1] = 'd:' .. key
    plan_fields[#plan_fields + 1] = index_with(ids, at, dead_keyed[i], clock_now)
    plan_fields[#plan_fields + 1], plan_fields[#plan_fields + 2] = 'e:' .. dead_keyed[i], key
  end
  dead_keys, dead_keyed = {}, {}
end
