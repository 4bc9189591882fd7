-- PURPOSE removes the settings of a queue whose partitions have been removed
-- TRANSITION none
-- KEYS[1] meta hash
-- ARGV[1] version | int | ms | of the settings with which the partitions were removed
-- ARGV[2] ttl | int | s | how long what is left of the settings is kept
-- RETURNS 0 removed, now or before; 2 there are settings of another version, and nothing was done
-- CODES -
-- COST O(1); 4 redis.calls
-- RETRY safe: a repetition finds what the first call has left
-- EMITS -
-- USES -
local last = string.format('%d', ARGV[1] + 1)
local m = redis.call('HMGET', KEYS[1], 'layout', 'version')
if m[2] == last and not m[1] then return 0 end
if m[2] ~= ARGV[1] then return 2 end
redis.call('UNLINK', KEYS[1])
redis.call('HSET', KEYS[1], 'version', last, 'deleted', '1')
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 0
