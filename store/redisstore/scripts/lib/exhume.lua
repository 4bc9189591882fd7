-- exhume(): takes messages that are no longer dead, or gone, out of the index by key.
local function exhume(ids)
  if #ids == 0 then return end
  local names, of, drop = leaving(ids, redis.call('HMGET', KEYS[1], unpack(prefixed('e:', ids))))
  if #drop == 0 then return end
  local keep = thin(names, of, drop, redis.call('HMGET', KEYS[1], unpack(prefixed('d:', names))))
  redis.call('HDEL', KEYS[1], unpack(drop))
  if #keep > 0 then redis.call('HSET', KEYS[1], unpack(keep)) end
end
