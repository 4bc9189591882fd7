-- PURPOSE reports that a client is alive or leaves, with the consumers that it has started and stopped, and removes those of a client that has fallen silent
-- TRANSITION none
-- KEYS[1] beats zset
-- KEYS[2] members zset
-- KEYS[3] byclient zset
-- KEYS[4] changes zset
-- KEYS[5] duties hash
-- KEYS[6] trials zset
-- ARGV[1] client | text | - | 1 to 64 characters
-- ARGV[2] ttl | int | ms | 0: it leaves with all its consumers
-- ARGV[3] expire | int | s | longer than any ttl: clients that end without leaving leave no key behind
-- ARGV[4] known | int | ms | version of the last beat; 0: none
-- ARGV[5] most | int | - | consumers of a client that are removed, and changed queues that are named
-- ARGV[6] n | int | - | consumers that leave
-- ARGV[7] m | int | - | consumers that begin their trial
-- ARGV[8] k | int | - | consumers that join; n, m and k are at most 500 together
-- ARGV[9...] consumers | text | - | n + m + k pairs of queue and consumer
-- RETURNS {version, unknown, more, left, queues...}: unknown 1: the client was not known to be alive; more 1: other queues have changed, too; left 1: the client that leaves still has consumers, beat again; queues: whose consumers have changed since the known version
-- CODES -
-- COST O((n + m + k + most) log N), N the consumers of all queues; 12 redis.calls when nothing changes, or 13 when it has since the known version, 3 more for each consumer that is named, and 2 for each queue that it concerns; when a client has fallen silent 3 more, and the like for its consumers
-- RETRY safe: a repetition changes nothing more
-- EMITS -
-- USES clock clients
clock_read()
local client, ttl, known = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])
local most, leaves, trials = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local deadline = tonumber(redis.call('ZSCORE', KEYS[1], client)) or 0
local alive = deadline > clock_now
redis.call('ZREM', KEYS[1], '')
for i = 1, leaves + trials + ARGV[8] do
  local queue, consumer = ARGV[7 + 2 * i], ARGV[8 + 2 * i]
  if i <= leaves then
    clients_leave(client, queue, consumer)
  elseif ttl > 0 then
    clients_join(client, queue, consumer, i <= leaves + trials)
  end
end
local left = 0
if ttl == 0 then
  left = clients_remove(client, most)
else
  redis.call('ZADD', KEYS[1], clock_up + ttl, client)
end
local silent = redis.call('ZRANGE', KEYS[1], '-inf', clock_now, 'BYSCORE', 'LIMIT', 0, 1)[1]
if silent then clients_remove(silent, most) end
local version = clients_changed()
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('EXPIRE', KEYS[2], ARGV[3])
redis.call('EXPIRE', KEYS[3], ARGV[3])
redis.call('EXPIRE', KEYS[4], ARGV[3])
redis.call('EXPIRE', KEYS[5], ARGV[3])
redis.call('EXPIRE', KEYS[6], ARGV[3])
local reply = {version, alive and 0 or 1, 0, left}
if known == 0 or known == version then return reply end
for _, queue in ipairs(redis.call('ZRANGE', KEYS[4], '(' .. ARGV[4], '+inf', 'BYSCORE', 'LIMIT', 0, most + 1)) do
  if #reply == 4 + most then
    reply[3] = 1
  elseif queue ~= '' then
    reply[#reply + 1] = queue
  end
end
return reply
