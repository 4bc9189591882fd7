-- PURPOSE reads which consumers are on duty, or what is needed to decide it
-- TRANSITION none
-- KEYS[1] members zset
-- KEYS[2] changes zset
-- KEYS[3] duties hash
-- ARGV[1] n | int | consumers | 1 to 500
-- ARGV[2] ranked | int | consumers | of a queue that have duties, those whose names come first
-- ARGV[3...] consumers | text | - | n triples of queue, consumer, partitions
-- RETURNS {count, index, version, table, names...}: of each consumer how many its queue has, how many come before it, -1 when it is not known, the version at which they have changed last, the table that assign has stored, and where that is of another version or has too few partitions the names of the queue's consumers, else nothing
-- CODES -
-- COST O(n log N), N the consumers of all queues, and O(C) for each queue without a current table, C <= 1000 its consumers; 5 redis.calls for each, and 1 for each without a current table
-- RETRY safe: it only reads
-- EMITS -
-- USES -
local reply, ranked = {}, ARGV[2]
for i = 1, tonumber(ARGV[1]) do
  local queue, consumer, partitions = ARGV[3 * i], ARGV[3 * i + 1], tonumber(ARGV[3 * i + 2])
  local first, last, own = '[' .. queue .. ' ', '(' .. queue .. '!', queue .. ' ' .. consumer
  local count, index = redis.call('ZLEXCOUNT', KEYS[1], first, last), -1
  if redis.call('ZLEXCOUNT', KEYS[1], '[' .. own .. ' ', '(' .. own .. '!') > 0 then
    index = redis.call('ZLEXCOUNT', KEYS[1], first, '(' .. own)
  end
  local version, table = redis.call('ZSCORE', KEYS[2], queue) or '0', redis.call('HGET', KEYS[3], queue) or ''
  local of, size = string.match(table, '^(%d+) (%d+)')
  local names = {}
  if of ~= version or tonumber(size) < partitions then
    for _, text in ipairs(redis.call('ZRANGE', KEYS[1], first, last, 'BYLEX', 'LIMIT', 0, ranked)) do
      names[#names + 1] = string.match(text, '^%S+ (%S+)')
    end
  end
  local o = #reply
  reply[o + 1], reply[o + 2], reply[o + 3], reply[o + 4], reply[o + 5] = count, index, version, table, names
end
return reply
