-- PURPOSE gives messages a new due time
-- TRANSITION scheduled, ready -> scheduled, ready
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] wake | text | - | "wake p"
-- ARGV[3] caller | text | - | 1 to 64 characters
-- ARGV[4] number | decimal | - | 20 digits
-- ARGV[5] from | int | items | how many of the call's were done in steps before
-- ARGV[6] n | int | items | 1 to 500
-- ARGV[7] farthest | int | ms | the longest time ahead that a message may be due
-- ARGV[8...] n references, n due times, n delays | text, int, int | ms | an id, or "k:" and a key; due 0: after the delay
-- RETURNS {done, exceptions}: done how many of the call's items are done, -1 when there is no such partition, -2 when the call is older than the caller's last; exceptions "index code -" of each that is not OK, the index counted in the whole call
-- CODES ok not_found running dead too_far
-- COST O(n log N), N the messages of the partition, n <= 500; 9 redis.calls, two more for each key, and at most 4 for each message that is not waiting
-- RETRY safe: the caller's last number is kept with its answer, and a repetition returns that
-- EMITS wake, when the first due time becomes earlier
-- USES partition code clock instant calls fields receipt history wake state refs answer steps
if not partition_layout then return {-1, ''} end
clock_read()
local repeated = steps_repeated()
if repeated then return repeated end
local n, ids, was = tonumber(ARGV[6]), {}, wake_first()
for i = 1, n do ids[i] = refs_id(ARGV[7 + i]) or '-' end
local held, moved, earliest = redis.call('ZMSCORE', KEYS[4], unpack(ids)), {}, math.huge
for i = 1, n do
  local due = tonumber(ARGV[7 + n + i])
  due = due ~= 0 and math.max(due, clock_now) or instant_after(ARGV[7 + 2 * n + i])
  if not held[i] then
    local where = state_of(ids[i])
    answer_add(steps_from + i, where == 'leased' and CODE_RUNNING or where == 'dead' and CODE_DEAD or CODE_NOT_FOUND)
  elseif due > clock_up + ARGV[7] then
    answer_add(steps_from + i, CODE_TOO_FAR)
  else
    moved[#moved + 1], moved[#moved + 2] = instant_text(due), ids[i]
    earliest = math.min(earliest, due)
  end
end
if #moved > 0 then
  redis.call('ZREM', KEYS[3], '-')
  redis.call('HDEL', KEYS[2], '-')
  redis.call('ZADD', KEYS[4], 'XX', unpack(moved))
  wake_consumers(was, earliest, ARGV[1], ARGV[2])
end
return steps_finish(n, answer_text())
