-- For claim, where dead messages have limits: removes dead messages that have been dead for so
-- long, or are more than that, MOST of them at most, those that died first.
local DEADLIMITS_MOST = 500
-- deadlimits_apply(): reports whether there are more.
local function deadlimits_apply()
  local span, most = string.match(partition_dead_limits, '^(%d+) (%d+)$')
  local n = 0
  if most ~= '0' then n = redis.call('ZCARD', KEYS[5]) - 1 - most end
  if span ~= '0' and n <= DEADLIMITS_MOST then
    n = math.max(n, redis.call('ZCOUNT', KEYS[5], '-inf', clock_now - span))
  end
  if n <= 0 then return false end
  local ids = redis.call('ZRANGE', KEYS[5], 0, math.min(n, DEADLIMITS_MOST) - 1)
  redis.call('ZREM', KEYS[3], '-')
  redis.call('ZREM', KEYS[5], unpack(ids))
  index_remove(KEYS[1], ids)
  remove_messages(ids, {})
  counter_add('dead_expired', #ids)
  return n > DEADLIMITS_MOST
end
