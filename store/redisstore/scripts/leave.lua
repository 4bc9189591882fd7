-- PURPOSE drops the last answers of consumers that make no more claims and repeat none
-- TRANSITION none
-- KEYS[1] calls hash
-- ARGV[1...] consumers | text | - | 1 to 500, of 1 to 64 characters
-- RETURNS nothing
-- CODES -
-- COST O(n), n <= 500 the consumers; 4 redis.calls, 2 when there is nothing to drop
-- RETRY safe: a repetition finds nothing to drop. The numbers stay, so a claim that arrives late hands out nothing
-- EMITS -
-- USES clock
clock_read()
local fields, short, long = {}, {}, {}
for i = 1, #ARGV do fields[i] = 'c:' .. ARGV[i] end
local memories = redis.call('HMGET', KEYS[1], unpack(fields))
for i = 1, #fields do
  local number = string.match(memories[i] or '', '^%d+ (%d+:?%d*) =$')
  if number then
    short[#short + 1], short[#short + 2] = fields[i], clock_now .. ' ' .. number .. ' '
    long[#long + 1] = fields[i] .. '='
  end
end
if #long > 0 then
  redis.call('HDEL', KEYS[1], unpack(long))
  redis.call('HSET', KEYS[1], unpack(short))
end
return {}
