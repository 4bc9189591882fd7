-- PURPOSE audits a partition in bounded steps
-- TRANSITION none
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] part | text | - | sums, msg, due, leased, dead, side, done, past, calls
-- ARGV[2] cursor | decimal | - | of the scan, 0 to begin
-- ARGV[3] skip | int | elements | of the scan's next page, that were examined before
-- ARGV[4] limit | int | elements | 1 to 250
-- ARGV[5] most | int | fields | side is counted as a whole when it has no more
-- RETURNS {cursor, skip, examined, then for each problem: element, text}: cursor "0" and skip 0 when the part is done
-- CODES -
-- COST O(n), n <= 250 elements examined, each with at most 9 redis.calls; sums also reads the names of up to 4000 fields. Copies 1 MiB of records and one more at most; where records are long and some are in no zset, a bucket of the hash more
-- RETRY safe: it changes nothing
-- EMITS -
-- USES partition record schedule fields fetch receipt history leased state settings index past texts problems auditmemory audit auditfields sums
if not partition_layout then
  local rest = redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[7], KEYS[8])
  if redis.call('HEXISTS', KEYS[1], 'deleted') == 1 then rest = rest - 1 end
  if rest > 0 then problems_add('', 'side has no layout, but there are ' .. rest .. ' other keys') end
  return {'0', 0, 0, unpack(problems_found)}
end
if ARGV[1] == 'sums' then
  sums_audit(tonumber(ARGV[5]))
  return {'0', 0, 1, unpack(problems_found)}
end
-- A scan of msg copies records. Where they are long it is made only if it can find any
-- that is in no zset, and slowly: the others are examined one by one, from their zsets.
local function examine(part, element, value)
  if element == '' then return end
  if part == 'msg' then return audit_record(element, value) end
  if part == 'leased' then return audit_leased(element, value) end
  if part == 'side' then return auditfields_side(element, value) end
  if part == 'done' then return auditfields_done(element) end
  if part == 'past' then return auditfields_past(element, value) end
  if part == 'calls' then return auditfields_call(element, value) end
  audit_message(part, element)
end
local long = FETCH_STEP < 16
if ARGV[1] == 'msg' and long and sums_complete() then return {'0', 0, 0, unpack(problems_found)} end
local cursor, skip, limit, examined = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), 0
local page = math.min(16, limit)
repeat
  local got = {}
  if ARGV[1] == 'msg' then
    got = redis.call('HSCAN', KEYS[2], cursor, 'COUNT', long and 1 or page)
  elseif ARGV[1] == 'due' then
    got = redis.call('ZSCAN', KEYS[4], cursor, 'COUNT', page)
  elseif ARGV[1] == 'leased' then
    got = redis.call('ZSCAN', KEYS[3], cursor, 'COUNT', page)
  elseif ARGV[1] == 'dead' then
    got = redis.call('ZSCAN', KEYS[5], cursor, 'COUNT', page)
  elseif ARGV[1] == 'done' then
    got = redis.call('ZSCAN', KEYS[7], cursor, 'COUNT', page)
  elseif ARGV[1] == 'past' then
    got = redis.call('HSCAN', KEYS[8], cursor, 'COUNT', long and 1 or page)
  elseif ARGV[1] == 'calls' then
    got = redis.call('HSCAN', KEYS[6], cursor, 'COUNT', page)
  else
    got = redis.call('HSCAN', KEYS[1], cursor, 'COUNT', page)
  end
  local found = got[2]
  while skip < #found / 2 and examined < limit and problems_bytes < fetch_budget do
    examine(ARGV[1], found[2 * skip + 1], found[2 * skip + 2])
    skip, examined = skip + 1, examined + 1
  end
  if skip < #found / 2 then return {cursor, skip, examined, unpack(problems_found)} end
  cursor, skip = got[1], 0
until cursor == '0' or examined >= limit or problems_bytes >= fetch_budget
return {cursor, 0, examined, unpack(problems_found)}
