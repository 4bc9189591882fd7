-- PURPOSE removes a partition of a queue that is being deleted
-- TRANSITION scheduled, ready, leased, dead, done -> (gone)
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] event | text | - | "reset p"
-- ARGV[3] version | int | ms | of the settings that keep pushes out, so that what is empty stays empty
-- ARGV[4] force | 1 or 0 | - | 1: with all messages; 0: only if there are none
-- ARGV[5] ttl | int | s | how long what is left of the partition is kept
-- RETURNS 0 removed, now or before; 1 it has messages, 2 it has settings of another version: nothing was done
-- CODES -
-- COST O(1), however many messages there are: their memory is freed by another thread; 9 redis.calls
-- RETRY safe: a repetition finds what the first call has left
-- EMITS reset, so that consumers notice it
-- USES partition leased
local last = string.format('%d', ARGV[3] + 1)
if partition_version == last and not partition_layout then return 0 end
if partition_version ~= ARGV[3] then return 2 end
local messages = redis.call('ZCOUNT', KEYS[3], '-inf', LEASED_RANGE)
  + redis.call('ZCARD', KEYS[4]) + redis.call('ZCARD', KEYS[5]) - 2
if ARGV[4] == '0' and messages > 0 then return 1 end
-- Without a layout there is no partition; its version refuses the settings of before. Its
-- calls stay known, so that none is taken for a new one by a partition that comes after it.
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[7], KEYS[8])
redis.call('HSET', KEYS[1], 'version', last, 'deleted', '1')
redis.call('EXPIRE', KEYS[1], ARGV[5])
redis.call('EXPIRE', KEYS[6], ARGV[5])
redis.pcall('PUBLISH', ARGV[1], ARGV[2])
return 0
