-- PURPOSE records that handlers are about to run, so that a lease that runs out from now on is a failure; makes the leases last longer, never shorter
-- TRANSITION leased -> leased
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- ARGV[1] n | int | receipts | 1 to 500
-- ARGV[2] lease | int | ms | 1000 to 43200000
-- ARGV[3...] n receipts | text | - | -
-- RETURNS {done, exceptions}: done is n, -1 when there is no such partition; exceptions "index code -" of each that is not OK
-- CODES ok gone lease_lost cancelled
-- COST O(n log N), N the leases of the partition, n <= 500; 8 redis.calls
-- RETRY safe: a repetition finds the start recorded, extends from its own time on, and never shortens
-- EMITS -
-- USES partition code clock instant fields history answer leased prolong
if not partition_layout then return {-1, ''} end
clock_read()
local n = tonumber(ARGV[1])
local ids = prolong_leases(3, 2 + n, ARGV[2])
local histories, notes, fresh, seen = history_read(ids), {}, 0, {}
for j, id in ipairs(ids) do
  local h = histories[j]
  local _, _, _, _, begun = history_parse(h)
  if not begun and not seen[id] then
    seen[id] = true
    notes[#notes + 1], notes[#notes + 2] = 'h:' .. id, (h or '0 0 -') .. 's'
    if not h then fresh = fresh + 1 end
  end
end
if #notes > 0 then redis.call('HSET', KEYS[1], unpack(notes)) end
if fresh > 0 then redis.call('HINCRBY', KEYS[1], 'tried', fresh) end
return {n, answer_text()}
