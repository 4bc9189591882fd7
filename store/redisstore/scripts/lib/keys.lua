-- For push and next: which message holds each key.
-- holders: key -> its holder's id, and behind a space its expiry or its schedule if it has one;
-- taken: keys whose holder is to be written; evicted: messages that lost their key, and are gone.
local keys_holders, keys_taken, keys_evicted, keys_expired, keys_replaced = {}, {}, {}, 0, 0
local function keys_load(from, n)
  local keys, fields = {}, {}
  for i = from, from + n - 1 do
    if ARGV[i] ~= '' then keys[#keys + 1], fields[#fields + 1] = ARGV[i], 'k:' .. ARGV[i] end
  end
  if #keys == 0 then return end
  local got = redis.call('HMGET', KEYS[1], unpack(fields))
  for i = 1, #keys do keys_holders[keys[i]] = got[i] end
end
-- keys_seize(): frees the key and returns how many messages it removed for that, or
-- returns the holder. One that is dead, or in no zset, does not hold its key any more.
local function keys_seize(key, replace)
  local holder = keys_holders[key]
  if not holder then return nil, 0 end
  local id, expiry = string.sub(holder, 1, 26), tonumber(string.sub(holder, 28)) or 0
  local where = staged_older[id] or staged_records[id] and 'due' or state_of(id)
  if where == 'leased' then return id end
  if where ~= 'due' then return nil, 0 end
  if expiry > 0 and expiry <= clock_now then
    keys_expired = keys_expired + 1
  elseif replace then
    keys_replaced = keys_replaced + 1
  else
    return id
  end
  if staged_older[id] or not staged_records[id] then keys_evicted[#keys_evicted + 1] = id end
  staged_records[id], staged_older[id] = false, false
  return nil, 1
end
local function keys_take(key, id, ttl, repeats)
  keys_holders[key] = ttl > 0 and id .. ' ' .. (clock_up + ttl) or repeats and id .. ' ' .. repeats or id
  keys_taken[key] = true
end
-- keys_write(): removes messages that lost their key, and writes the id that has it now, if its message is
-- not gone by the end of this call. A message of this batch may have been stored, replaced and stored again,
-- so the records are written once more.
local function keys_write(records)
  if #keys_evicted > 0 then
    redis.call('ZREM', KEYS[4], unpack(keys_evicted))
    remove_messages(keys_evicted, {})
    redis.call('HSET', KEYS[2], unpack(records))
  end
  local fields = {}
  for key in pairs(keys_taken) do
    if keys_holders[key] then fields[#fields + 1], fields[#fields + 2] = 'k:' .. key, keys_holders[key] end
  end
  if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
  counter_add('expired', keys_expired)
  counter_add('replaced', keys_replaced)
end
