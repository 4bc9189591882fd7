-- PURPOSE reads and changes the settings of a queue
-- TRANSITION none
-- KEYS[1] meta hash
-- ARGV[1] create | 1 or 0 | - | 1: make the queue if it is missing
-- ARGV[2] partitions | int | - | 1 to 1024; empty: as it is
-- ARGV[3] max body | int | bytes | empty: as it is
-- ARGV[4] max messages | int | messages | 0: no limit; empty: as it is
-- ARGV[5] paused | 1 or 0 | - | empty: as it is
-- ARGV[6] partitions of a new queue | int | - | 1 to 1024
-- ARGV[7] max body of a new queue | int | bytes | -
-- RETURNS {status, version, partitions, max body, max messages, paused}: status 0 nothing changed, 1 changed, 2 made; -1 no such queue; -2 it has another number of partitions
-- CODES -
-- COST O(1); at most 4 redis.calls
-- RETRY safe: a repetition sets the same
-- EMITS -
-- USES time
local m = redis.call('HMGET', KEYS[1], 'layout', 'version', 'partitions', 'max_body', 'max_messages', 'paused')
if m[1] and m[1] ~= '1' then return redis.error_reply('LAYOUT ' .. m[1]) end
local status = 0
if not m[1] then
  if ARGV[1] ~= '1' then return {-1} end
  m = {'1', 0, ARGV[2] ~= '' and ARGV[2] or ARGV[6], ARGV[7], '0', '0'}
  status = 2
end
if ARGV[2] ~= '' and ARGV[2] ~= m[3] then return {-2, 0, m[3]} end
for i, to in ipairs({ARGV[3], ARGV[4], ARGV[5]}) do
  if to ~= '' and to ~= m[i + 3] then m[i + 3], status = to, math.max(status, 1) end
end
if status > 0 then
  m[2] = m[2] + 1
  redis.call('HDEL', KEYS[1], '-')
  redis.call('HSET', KEYS[1], 'layout', '1', 'version', m[2], 'partitions', m[3],
    'max_body', m[4], 'max_messages', m[5], 'paused', m[6])
  redis.call('HSETNX', KEYS[1], 'created', now)
end
return {status, tonumber(m[2]), m[3], m[4], m[5], m[6]}
