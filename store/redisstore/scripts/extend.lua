-- PURPOSE makes leases last longer, never shorter
-- TRANSITION leased -> leased
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- ARGV[1] n | int | receipts | 1 to 500
-- ARGV[2] lease | int | ms | 1000 to 43200000
-- ARGV[3...] n receipts | text | - | -
-- RETURNS {done, exceptions}: done is n, -1 when there is no such partition; exceptions "index code -" of each that is not OK
-- CODES ok gone lease_lost cancelled
-- COST O(n log N), N the leases of the partition, n <= 500; 5 redis.calls
-- RETRY safe: a repetition extends from its own time on, and never shortens
-- EMITS -
-- USES partition code clock instant fields history answer leased prolong
if not partition_layout then return {-1, ''} end
clock_read()
local n = tonumber(ARGV[1])
prolong_leases(3, 2 + n, ARGV[2])
return {n, answer_text()}
