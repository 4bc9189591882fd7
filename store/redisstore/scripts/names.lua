-- PURPOSE lists keys and dedup ids that a partition has, in steps
-- TRANSITION none
-- KEYS[1] side hash
-- ARGV[1] cursor | decimal | - | of the scan, 0 to begin
-- ARGV[2] limit | int | fields | 1 to 1000
-- RETURNS {cursor, then for each name: "k" and the key of a live message, "d" and that of a dead one, or "u" and the dedup id of one that is not gone; for a dedup id the id of its message, otherwise ""}: cursor "0" when the scan is done
-- CODES -
-- COST O(n), n <= 1000 fields and those of one bucket; 3 redis.calls. Copies the values of these fields
-- RETRY safe: it changes nothing
-- EMITS -
-- USES partition fields
if not partition_layout then return {'0'} end
local got = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local answer, found, dedup, ids = {got[1]}, got[2], {}, {}
for i = 1, #found, 2 do
  local kind, name = string.match(found[i], '^([kdu]):(.*)$')
  if kind == 'u' then
    dedup[#dedup + 1], ids[#ids + 1] = name, found[i + 1]
  elseif kind then
    answer[#answer + 1], answer[#answer + 2] = kind .. name, ''
  end
end
local spans = #ids > 0 and redis.call('HMGET', KEYS[1], unpack(fields_of('w:', ids))) or {}
for i = 1, #ids do
  if string.match(spans[i] or '', '^%d') then
    answer[#answer + 1], answer[#answer + 2] = 'u' .. dedup[i], ids[i]
  end
end
return answer
