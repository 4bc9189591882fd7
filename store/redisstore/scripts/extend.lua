-- PURPOSE makes leases last longer, never shorter
-- TRANSITION leased -> leased
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- ARGV[1...] n receipts, n leases | text, int | ms | n 1 to 500, leases 1000 to 43200000
-- RETURNS {done, exceptions}: done is n, -1 when there is no such partition; exceptions "index code -" of each that is not OK
-- CODES ok gone lease_lost cancelled
-- COST O(n log N), N the leases of the partition, n <= 500; 5 redis.calls
-- RETRY safe: a repetition extends from its own time on, and never shortens
-- EMITS -
-- USES partition code clock instant fields history answer leased prolong
if not partition_layout then return {-1, ''} end
clock_read()
prolong_leases(#ARGV / 2)
return {#ARGV / 2, answer_text()}
