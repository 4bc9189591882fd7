-- PURPOSE reads one message
-- TRANSITION none
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] reference | text | - | an id, or "k:" and a key
-- RETURNS {state, id, at ms, record, history, failure texts, cancel request, size of a body that was left out, holder of a leased one, for how long it is to be remembered and its dedup id}, state scheduled, ready, leased, dead or done; the history of a done one ends with how it ended, a acked, c cancelled, e expired; what is missing is nil. {} when there is no such message
-- CODES -
-- COST O(log N), N the messages of the partition; at most 12 redis.calls; copies one record
-- RETRY safe: it changes nothing
-- EMITS -
-- USES partition clock fields receipt history state refs past
if not partition_layout then return {} end
clock_read()
local id = refs_id(ARGV[1])
if not id and partition_done_limits then
  local list = redis.call('HGET', KEYS[8], 'd' .. string.sub(ARGV[1], 2)) or ''
  id = string.match(list, '%S+$')
end
if not id then return {} end
local where, at = state_of(id)
if not where then
  at = partition_done_limits and redis.call('ZSCORE', KEYS[7], id)
  if not at then return {} end
  local h, text, record, size = past_parse(redis.call('HGET', KEYS[8], id))
  return {'done', id, at, record, h, text, false, size or false, false, false}
end
if where == 'due' then where = tonumber(at) <= clock_now and 'ready' or 'scheduled' end
local more, holder = redis.call('HMGET', KEYS[1], 'h:' .. id, 'f:' .. id, 'x:' .. id, 'w:' .. id), false
if where == 'leased' then
  holder = redis.call('HGET', KEYS[6], 'a:' .. at % 1024)
  at = string.format('%d', math.floor(at / 1024))
end
return {where, id, at, redis.call('HGET', KEYS[2], id), more[1], more[2], more[3], false, holder, more[4]}
