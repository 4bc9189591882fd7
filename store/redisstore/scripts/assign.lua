-- PURPOSE stores which consumers of a queue are on duty, unless they have changed meanwhile
-- TRANSITION none
-- KEYS[1] changes zset
-- KEYS[2] duties hash
-- ARGV[1] queue | text | - | 1 to 128 characters
-- ARGV[2] version | int | ms | of the consumers
-- ARGV[3] table | text | - | "version partitions index... / name...", of each partition the consumer on duty: its index in the order of names, and its name
-- RETURNS the table that holds: another client may have stored one of the same version, for as many partitions; empty when the consumers have changed
-- CODES -
-- COST O(log N), N the queues; 3 redis.calls
-- RETRY safe: a repetition finds the table that the first call has stored
-- EMITS -
-- USES -
if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return '' end
local stored = redis.call('HGET', KEYS[2], ARGV[1]) or ''
local of, size = string.match(stored, '^(%d+) (%d+)')
local _, wanted = string.match(ARGV[3], '^(%d+) (%d+)')
if of == ARGV[2] and tonumber(size) >= tonumber(wanted) then return stored end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
return ARGV[3]
