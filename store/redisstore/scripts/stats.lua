-- PURPOSE reads the sizes and counters of a partition
-- TRANSITION none
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- ARGV[1...] counters | text | - | fields of side
-- RETURNS {version of its settings, scheduled, ready, leased, dead, oldest ready ms, records, remembered messages that are gone, done, then the counters}; {version} when there is no such partition, 0 if there has been none
-- CODES -
-- COST O(log N), N the messages of the partition; 9 redis.calls
-- RETRY safe: it changes nothing
-- EMITS -
-- USES partition clock leased
if not partition_layout then return {partition_version or '0'} end
clock_read()
local ready = redis.call('ZCOUNT', KEYS[4], '-inf', clock_now)
local waiting = redis.call('ZCOUNT', KEYS[4], '-inf', '(+inf')
local oldest = tonumber(redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2]) or clock_now
local out = {partition_version or '0', waiting - ready, ready, redis.call('ZCOUNT', KEYS[3], '-inf', LEASED_RANGE),
  redis.call('ZCOUNT', KEYS[5], '-inf', '(+inf'), ready > 0 and clock_now - oldest or 0,
  redis.call('HLEN', KEYS[2]) - 1, 0, partition_done_limits and redis.call('ZCARD', KEYS[7]) - 1 or 0}
if partition_windows then
  local first, next = string.match(partition_windows, '^%d+ (%d+) (%d+)$')
  out[8] = (tonumber(next) or 0) - (tonumber(first) or 0)
end
local counters = redis.call('HMGET', KEYS[1], unpack(ARGV))
for i = 1, #counters do out[#out + 1] = counters[i] or '0' end
return out
