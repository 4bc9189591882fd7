package system

import "github.com/redis/go-redis/v9"

// kpmDue moves all due messages. KEYS pending, ready; ARGV now in ms. It moves ids in slices, because
// unpack takes no more than some thousand values.
var kpmDue = redis.NewScript(`
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
for i = 1, #due, 1000 do
  redis.call('LPUSH', KEYS[2], unpack(due, i, math.min(i + 999, #due)))
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
return #due
`)

// kpmTake takes one id. KEYS ready or retry, unack; ARGV end of the lease in ms.
var kpmTake = redis.NewScript(`
local id = redis.call('RPOP', KEYS[1])
if not id then return false end
redis.call('ZADD', KEYS[2], ARGV[1], id)
return id
`)

// kpmTimedOut moves messages that were not acked in time to retry or garbage. KEYS unack, retry,
// garbage, retries left; ARGV now in ms.
var kpmTimedOut = redis.NewScript(`
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
for _, id in ipairs(ids) do
  if redis.call('HINCRBY', KEYS[4], id, -1) >= 0 then
    redis.call('LPUSH', KEYS[2], id)
  else
    redis.call('SADD', KEYS[3], id)
  end
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
return #ids
`)
