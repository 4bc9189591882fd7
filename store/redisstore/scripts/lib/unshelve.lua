-- unlist(): takes done messages out of the index by key. unshelve(): removes them.
local function unlist(ids)
  local names, of, drop = leaving(ids, redis.call('HMGET', KEYS[8], unpack(prefixed('e:', ids))))
  if #drop == 0 then return end
  local keep = thin(names, of, drop, redis.call('HMGET', KEYS[8], unpack(prefixed('d:', names))))
  redis.call('HDEL', KEYS[8], unpack(drop))
  if #keep > 0 then redis.call('HSET', KEYS[8], unpack(keep)) end
end
local function unshelve(ids)
  redis.call('ZREM', KEYS[7], unpack(ids))
  unlist(ids)
  redis.call('HDEL', KEYS[8], unpack(ids))
end
