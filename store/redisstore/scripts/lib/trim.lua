-- For claim, where s[8] says what is kept: removes dead messages that have been dead for so
-- long, or are more than that, TRIM of them at most, those that died first.
local TRIM = 500
-- trim(): reports whether there are more.
local function trim()
  local span, most = string.match(s[8], '^(%d+) (%d+)$')
  local n = 0
  if most ~= '0' then n = redis.call('ZCARD', KEYS[5]) - 1 - most end
  if span ~= '0' and n <= TRIM then n = math.max(n, redis.call('ZCOUNT', KEYS[5], '-inf', now - span)) end
  if n <= 0 then return false end
  local ids = redis.call('ZRANGE', KEYS[5], 0, math.min(n, TRIM) - 1)
  redis.call('ZREM', KEYS[3], '-')
  redis.call('ZREM', KEYS[5], unpack(ids))
  exhume(ids)
  forget(ids, {})
  count('dead_expired', #ids)
  return n > TRIM
end
