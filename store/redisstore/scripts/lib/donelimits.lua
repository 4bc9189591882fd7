-- donelimits_apply(): removes done messages that have been kept for long enough, or are too many,
-- the oldest first, and reports whether there are more than the limit.
local donelimits_apply
if partition_done_limits then
  function donelimits_apply(limit)
    local span, most = string.match(partition_done_limits, '^(%d+) (%d+)$')
    local all = redis.call('ZCARD', KEYS[7])
    local n = all - 1 - most
    if n <= limit then n = math.max(n, redis.call('ZCOUNT', KEYS[7], '-inf', clock_now - span)) end
    if n <= 0 then return false end
    local keyed = redis.call('HLEN', KEYS[8]) > all -- or none has a key
    local ids = redis.call('ZRANGE', KEYS[7], 0, math.min(n, limit) - 1)
    redis.call('ZREMRANGEBYRANK', KEYS[7], 0, #ids - 1)
    if keyed then index_remove(KEYS[8], ids) end
    redis.call('HDEL', KEYS[8], unpack(ids))
    return n > limit
  end
end
