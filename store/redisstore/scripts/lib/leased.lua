-- The score of a lease is its end, ms, times 1024, plus the alias of its holder: a number from 1
-- to 1023 that stands for a consumer, 0 where there is none. Behind the leases, from BOUNDS on,
-- leased has a member "=ALIAS" for each alias: no lease with that alias ends later than its
-- score less BOUNDS.
local LEASED_BOUNDS = 4503599627370496 -- 2^52
local LEASED_RANGE = '(4503599627370496' -- as the end of a range of scores
