-- PURPOSE makes a partition if it is missing, and gives it its queue's settings
-- TRANSITION none
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] wake | text | - | "wake p"
-- ARGV[3] version | int | - | of the settings; older ones than the partition has are left
-- ARGV[4] paused | 1 or 0 | - | -
-- ARGV[5] max messages | int | messages | 0: no limit
-- RETURNS 1 when they were taken over, 0 when the partition has newer ones
-- CODES -
-- COST O(1); at most 11 redis.calls
-- RETRY safe: a repetition sets the same
-- EMITS wake, when the partition is no longer paused
-- USES open create
if tonumber(redis.call('HGET', KEYS[1], 'version') or 0) > tonumber(ARGV[3]) then return 0 end
redis.call('ZREM', KEYS[3], '-')
if not s[1] then create() end
redis.call('HSET', KEYS[1], 'version', ARGV[3])
if ARGV[4] == '1' then
  redis.call('HSET', KEYS[1], 'paused', '1')
else
  redis.call('HDEL', KEYS[1], 'paused')
  if s[4] == '1' then redis.call('PUBLISH', ARGV[1], ARGV[2]) end
end
if ARGV[5] == '0' then
  redis.call('HDEL', KEYS[1], 'max')
else
  redis.call('HSET', KEYS[1], 'max', ARGV[5])
end
return 1
