-- PURPOSE counts the messages that become due in each of the next spans of time
-- TRANSITION none
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- ARGV[1] step | integer | ms | >= 1
-- ARGV[2] spans | integer | - | 1 to 100
-- RETURNS {ready, messages of each span, later}
-- CODES -
-- COST O(S log N), S the spans and N the waiting messages of the partition; S + 4 redis.calls
-- RETRY safe: it changes nothing
-- EMITS -
-- USES partition clock
clock_read()
local out = {redis.call('ZCOUNT', KEYS[4], '-inf', clock_now)}
local from = clock_now
for i = 1, tonumber(ARGV[2]) do
  local to = clock_now + i * tonumber(ARGV[1])
  out[i + 1] = redis.call('ZCOUNT', KEYS[4], string.format('(%.0f', from), string.format('%.0f', to))
  from = to
end
out[#out + 1] = redis.call('ZCOUNT', KEYS[4], string.format('(%.0f', from), '(+inf')
return out
