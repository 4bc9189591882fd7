-- For push: keys and expiry. state: records as this batch leaves them (false: removed).
-- owner: key -> its holder's id, and behind a space its expiry or its schedule if it has one.
-- older: messages that were there before and have another record now, and whether they are
-- 'due' or 'leased'.
local state, owner, taken, evicted, older, expired, replaced = {}, {}, {}, {}, {}, 0, 0
local function load_owners(from, n)
  local keys, fields = {}, {}
  for i = from, from + n - 1 do
    if ARGV[i] ~= '' then keys[#keys + 1], fields[#fields + 1] = ARGV[i], 'k:' .. ARGV[i] end
  end
  if #keys == 0 then return end
  local got = redis.call('HMGET', KEYS[1], unpack(fields))
  for i = 1, #keys do owner[keys[i]] = got[i] end
end
-- seize(): makes room for a message with the key and returns how many it removed, or
-- returns the holder. One that is nowhere, or dead, has lost its record: its key is free.
local function seize(key, replace)
  local holder = owner[key]
  if not holder then return nil, 0 end
  local id, expiry = string.sub(holder, 1, 26), tonumber(string.sub(holder, 28)) or 0
  local where = older[id] or state[id] and 'due' or place(id)
  if where == 'leased' then return id end
  if where ~= 'due' then return nil, 0 end
  if expiry > 0 and expiry <= now then
    expired = expired + 1
  elseif replace then
    replaced = replaced + 1
  else
    return id
  end
  if older[id] or not state[id] then evicted[#evicted + 1] = id end
  state[id], older[id] = false, false
  return nil, 1
end
local function take(key, id, ttl, repeats)
  owner[key] = ttl > 0 and id .. ' ' .. (up + ttl) or repeats and id .. ' ' .. repeats or id
  taken[key] = true
end
-- evict(): removes what lost its key, and writes who has it now, if that is not gone by the
-- end of this call. A message of this batch may have been stored, replaced and stored again,
-- so the records are written once more.
local function evict(records)
  if #evicted > 0 then
    redis.call('ZREM', KEYS[4], unpack(evicted))
    forget(evicted, {})
    redis.call('HSET', KEYS[2], unpack(records))
  end
  local fields = {}
  for key in pairs(taken) do
    if owner[key] then fields[#fields + 1], fields[#fields + 2] = 'k:' .. key, owner[key] end
  end
  if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
  count('expired', expired)
  count('replaced', replaced)
end
