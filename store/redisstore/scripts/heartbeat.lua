-- PURPOSE says that a consumer is alive, or leaves, and reads who is
-- TRANSITION none
-- KEYS[1] members zset
-- ARGV[1] consumer | text | - | 1 to 64 characters; empty: only read
-- ARGV[2] ttl | int | ms | 0: it leaves
-- ARGV[3] expire | int | s | longer than any ttl: consumers that end without leaving leave no key behind
-- RETURNS the live consumers when it is only to read, else nothing
-- CODES -
-- COST O(log n), n the consumers of the queue, and O(1) for each that has fallen silent; O(n) to read; 4 redis.calls
-- RETRY safe: a repetition sets the same
-- EMITS -
-- USES clock
clock_read()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', clock_now)
if ARGV[1] == '' then return redis.call('ZRANGE', KEYS[1], 0, -1) end
if ARGV[2] == '0' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], clock_up + ARGV[2], ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[3])
end
return {}
