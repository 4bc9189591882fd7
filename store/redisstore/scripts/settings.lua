-- PURPOSE changes the settings of a queue
-- TRANSITION none
-- KEYS[1] meta hash
-- ARGV[1] create | 1 or 0 | - | 1: make the queue if it is missing
-- ARGV[2] partitions | int | - | 1 to 1024; empty: as it is
-- ARGV[3] max body | int | bytes | empty: as it is
-- ARGV[4] max messages | int | messages | 0: no limit; empty: as it is
-- ARGV[5] paused | 1 or 0 | - | empty: as it is
-- ARGV[6] version | int | ms | of the latest settings that the caller has found elsewhere, which are taken over if they are later; 0: those of a new queue
-- ARGV[7] partitions of those | int | - | 1 to 1024
-- ARGV[8] max body of those | int | bytes | -
-- ARGV[9] max messages of those | int | messages | -
-- ARGV[10] paused of those | 1 or 0 | - | -
-- RETURNS {status, version, partitions, max body, max messages, paused}: status 0 nothing changed, 1 changed, 2 made; {-1} no such queue; {-2, partitions} it has another number of partitions
-- CODES -
-- COST O(1); at most 5 redis.calls
-- RETRY safe: a repetition sets the same
-- EMITS -
-- USES time
local m = redis.call('HMGET', KEYS[1], 'layout', 'version', 'partitions', 'max_body', 'max_messages', 'paused')
if m[1] and m[1] ~= '1' then return redis.error_reply('LAYOUT ' .. m[1]) end
local status, version = 0, tonumber(m[2]) or 0
if version < tonumber(ARGV[6]) or not m[1] then
  if ARGV[6] == '0' and ARGV[1] ~= '1' then return {-1} end
  m = {'1', ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]}
  status, version = ARGV[6] == '0' and 2 or 1, tonumber(ARGV[6])
end
if ARGV[2] ~= '' and ARGV[2] ~= m[3] then return {-2, m[3]} end
-- What was found elsewhere keeps its version: it is the same settings.
local changed = version == 0
for i, to in ipairs({ARGV[3], ARGV[4], ARGV[5]}) do
  if to ~= '' and to ~= m[i + 3] then m[i + 3], changed = to, true end
end
if changed then
  m[2], status = digits(math.max(version + 1, now)), math.max(status, 1)
end
if status > 0 then
  redis.call('HDEL', KEYS[1], '-')
  redis.call('HSET', KEYS[1], 'layout', '1', 'version', m[2], 'partitions', m[3],
    'max_body', m[4], 'max_messages', m[5], 'paused', m[6])
  redis.call('HSETNX', KEYS[1], 'created', digits(now))
end
return {status, m[2], m[3], m[4], m[5], m[6]}
