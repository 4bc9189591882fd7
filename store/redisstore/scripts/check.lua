-- PURPOSE audits a partition in bounded steps
-- TRANSITION none
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- ARGV[1] part | text | - | sums, msg, due, leased, dead, side
-- ARGV[2] cursor | decimal | - | of the scan, 0 to begin
-- ARGV[3] limit | int | elements | 1 to 250, about
-- ARGV[4] most | int | fields | side is counted as a whole when it has no more
-- RETURNS {cursor, examined, then for each problem: element, text}: cursor "0" when the part is done
-- CODES -
-- COST O(n), n <= 250 elements examined, each with at most 8 redis.calls; sums also reads the names of up to 4000 fields. Copies 1 MiB and about 16 records at most
-- RETRY safe: it changes nothing
-- EMITS -
-- USES open record fetch receipt history place audit
if not s[1] then
  local rest = redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5])
  if rest > 0 then bad('', 'side has no layout, but there are ' .. rest .. ' other keys') end
  return {'0', 0, unpack(problems)}
end
if ARGV[1] == 'sums' then
  audit_sums(tonumber(ARGV[4]))
  return {'0', 1, unpack(problems)}
end
local cursor, examined, step = ARGV[2], 0, math.min(16, tonumber(ARGV[3]))
repeat
  local got = {}
  if ARGV[1] == 'msg' then
    got = redis.call('HSCAN', KEYS[2], cursor, 'COUNT', step)
  elseif ARGV[1] == 'due' then
    got = redis.call('ZSCAN', KEYS[4], cursor, 'COUNT', step)
  elseif ARGV[1] == 'leased' then
    got = redis.call('ZSCAN', KEYS[3], cursor, 'COUNT', step)
  elseif ARGV[1] == 'dead' then
    got = redis.call('ZSCAN', KEYS[5], cursor, 'COUNT', step)
  else
    got = redis.call('HSCAN', KEYS[1], cursor, 'COUNT', step)
  end
  cursor = got[1]
  for i = 1, #got[2], 2 do
    if got[2][i] ~= '' then audit(ARGV[1], got[2][i], got[2][i + 1]) end
    examined = examined + 1
  end
until cursor == '0' or examined >= tonumber(ARGV[3]) or read > BUDGET
return {cursor, examined, unpack(problems)}
