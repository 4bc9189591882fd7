-- The limit of live messages. most: how many there may be; live: how many there are. The dead do
-- not count: they must not keep others from being sent. memory: whether Redis has memory for more.
local livelimit_most, livelimit_live, livelimit_memory = tonumber(partition_max_live) or math.huge, 0, true
if partition_max_live then livelimit_live = redis.call('HLEN', KEYS[2]) - redis.call('ZCARD', KEYS[5]) end
