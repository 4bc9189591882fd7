-- Makes a partition: each key gets a member that stays, so that the key always exists.
-- (A script with keys that are partly absent is refused while a Cluster slot migrates.)
-- What a deleted partition has left behind stays, too.
local function create_partition()
  redis.call('HSET', KEYS[2], '', '1')
  redis.call('HSET', KEYS[1], 'layout', '1')
  redis.call('ZADD', KEYS[3], '+inf', '')
  redis.call('ZADD', KEYS[4], '+inf', '')
  redis.call('ZADD', KEYS[5], '+inf', '')
  redis.call('HSET', KEYS[6], '', '1')
  redis.call('HDEL', KEYS[1], 'deleted')
  redis.call('PERSIST', KEYS[1])
  redis.call('PERSIST', KEYS[6])
  redis.call('ZADD', KEYS[7], '+inf', '')
  redis.call('HSET', KEYS[8], '', '1')
end
