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
-- ARGV[3] version | int | ms | of the settings; older ones than the partition has are refused
-- ARGV[4] partitions | int | - | 1 to 1024
-- ARGV[5] max body | int | bytes | -
-- ARGV[6] max messages | int | messages | 0: no limit
-- ARGV[7] paused | 1 or 0 | - | -
-- RETURNS {} when they were taken over, or those that the partition has, which are later: {layout, version, partitions, max body, max messages, paused}
-- CODES -
-- COST O(1); at most 12 redis.calls
-- RETRY safe: a repetition sets the same
-- EMITS wake, when the partition is no longer paused
-- USES open create
if (tonumber(s[7]) or 0) > tonumber(ARGV[3]) then
  local more = redis.call('HMGET', KEYS[1], 'partitions', 'max_body')
  return {s[1], s[7], more[1], more[2], s[5], s[4]}
end
redis.call('ZREM', KEYS[3], '-')
if not s[1] then create() end
redis.call('HSET', KEYS[1], 'version', ARGV[3], 'partitions', ARGV[4], 'max_body', ARGV[5])
if ARGV[6] == '0' then
  redis.call('HDEL', KEYS[1], 'max_messages')
else
  redis.call('HSET', KEYS[1], 'max_messages', ARGV[6])
end
if ARGV[7] == '1' then
  redis.call('HSET', KEYS[1], 'paused', '1')
else
  redis.call('HDEL', KEYS[1], 'paused')
  if s[4] == '1' then redis.pcall('PUBLISH', ARGV[1], ARGV[2]) end
end
return {}
