-- PURPOSE reads the clock
-- TRANSITION none
-- KEYS[1] side hash
-- RETURNS the instant, in ms
-- CODES -
-- COST O(1); 2 redis.calls
-- RETRY safe: it changes nothing
-- EMITS -
-- USES partition clock
clock_read()
return clock_now
