-- PURPOSE reads one message
-- TRANSITION none
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- ARGV[1] reference | text | - | an id, or "k:" and a key
-- RETURNS {state, id, at ms, record, history, failure, cancel request}, state scheduled, ready, leased or dead; what is missing is nil. {} when there is no such message
-- CODES -
-- COST O(log N), N the messages of the partition; at most 9 redis.calls; copies one record
-- RETRY safe: it changes nothing
-- EMITS -
-- USES open time receipt history place refs
if not s[1] then return {} end
local id = named(ARGV[1])
if not id then return {} end
local where, at = place(id)
if not where then return {} end
if where == 'due' then where = tonumber(at) <= now and 'ready' or 'scheduled' end
local more = redis.call('HMGET', KEYS[1], 'h:' .. id, 'f:' .. id, 'x:' .. id)
return {where, id, at, redis.call('HGET', KEYS[2], id), more[1], more[2], more[3]}
