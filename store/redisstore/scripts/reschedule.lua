-- PURPOSE gives messages a new due time
-- TRANSITION scheduled, ready -> scheduled, ready
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] wake | text | - | "wake p"
-- ARGV[3] farthest | int | ms | the longest time ahead that a message may be due
-- ARGV[4...] n references, n due times, n delays | text, int, int | ms | n 1 to 500, an id, or "k:" and a key; due 0: after the delay
-- RETURNS {done, exceptions}: done is n, -1 when there is no such partition; exceptions "index:code" for all but OK
-- CODES ok not_found running dead too_far
-- COST O(n log N), N the messages of the partition, n <= 500; 6 redis.calls, one more for each key, and at most 4 for each message that is not waiting
-- RETRY safe: a repetition sets the same due time, or counts the same delay from its own time
-- EMITS wake, when the first due time becomes earlier
-- USES open codes time receipt history wake place refs answer
if not s[1] then return {-1, ''} end
local n, ids, before = (#ARGV - 3) / 3, {}, first()
for i = 1, n do ids[i] = named(ARGV[3 + i]) or '-' end
local held, moved, earliest = redis.call('ZMSCORE', KEYS[4], unpack(ids)), {}, math.huge
for i = 1, n do
  local due = tonumber(ARGV[3 + n + i])
  due = due > 0 and math.max(due, now) or after(ARGV[3 + 2 * n + i])
  if not held[i] then
    local where = place(ids[i])
    say(i, where == 'leased' and RUNNING or where == 'dead' and DEAD or NOT_FOUND)
  elseif due > up + ARGV[3] then
    say(i, TOO_FAR)
  else
    moved[#moved + 1], moved[#moved + 2] = digits(due), ids[i]
    earliest = math.min(earliest, due)
  end
end
if #moved > 0 then
  redis.call('ZREM', KEYS[3], '-')
  redis.call('HDEL', KEYS[2], '-')
  redis.call('ZADD', KEYS[4], 'XX', unpack(moved))
  wake(before, earliest)
end
return {n, table.concat(odd, ' ')}
