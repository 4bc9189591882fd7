-- PURPOSE reads the live consumers of a queue, and who is on duty
-- TRANSITION none
-- KEYS[1] beats zset
-- KEYS[2] members zset
-- KEYS[3] trials zset
-- KEYS[4] duties hash
-- ARGV[1] queue | text | - | 1 to 128 characters
-- ARGV[2] most | int | clients | that have fallen silent, whose consumers are left out
-- RETURNS {table, trials, text...}: the table of duties that assign has stored, how many consumers are on trial, those first; of each "queue consumer client"
-- CODES -
-- COST O(n + m), n the consumers of the queue, m <= most; 5 redis.calls
-- RETRY safe: it only reads
-- EMITS -
-- USES clock
clock_read()
local silent = {}
for _, client in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', clock_now, 'BYSCORE', 'LIMIT', 0, ARGV[2])) do
  silent[client] = true
end
local live = {redis.call('HGET', KEYS[4], ARGV[1]) or '', '0'}
local first, last = '[' .. ARGV[1] .. ' ', '(' .. ARGV[1] .. '!'
for _, text in ipairs(redis.call('ZRANGE', KEYS[3], first, last, 'BYLEX')) do
  if not silent[string.match(text, '%S+$')] then live[#live + 1] = text end
end
live[2] = string.format('%d', #live - 2)
for _, text in ipairs(redis.call('ZRANGE', KEYS[2], first, last, 'BYLEX')) do
  if not silent[string.match(text, '%S+$')] then live[#live + 1] = text end
end
return live
