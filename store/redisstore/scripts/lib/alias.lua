-- For claim: gives the consumer an alias, if it has none. number: that of the claim.
local alias_consumer, alias_number = ARGV[1], ARGV[2]
-- alias_free(): an alias that no lease has, 0 if there is none. first is when the first of all leases
-- ends, so no lease has an alias whose bound is before that. An alias is taken from a consumer
-- that has had no lease for an hour or, when all are in use, for a minute.
local function alias_free(first)
  local oldest = redis.call('ZRANGEBYSCORE', KEYS[3], LEASED_BOUNDS, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  local n = redis.call('ZCOUNT', KEYS[3], LEASED_BOUNDS, '(+inf')
  local last = oldest[1] and oldest[2] - LEASED_BOUNDS or math.huge
  if last < math.min(first, clock_now - (n < 1023 and 3600000 or 60000)) then
    return tonumber(string.sub(oldest[1], 2))
  end
  local number = n < 1023 and n + 1 or 0
  while number > 0 and redis.call('ZSCORE', KEYS[3], '=' .. number) do number = number - 1 end
  return number
end
local function alias_take(first)
  calls_alias = alias_free(first)
  if calls_alias == 0 then return end
  local field = 'a:' .. calls_alias
  local before = redis.call('HGET', KEYS[6], field)
  calls_also = {field, alias_consumer}
  if not before or before == alias_consumer then return end
  -- The consumer that had it gets another with its next lease.
  local memory = redis.call('HGET', KEYS[6], 'c:' .. before) or ''
  local head, number, rest = string.match(memory, '^(%d+ %d+):(%d+)(.*)$')
  if tonumber(number) == calls_alias then calls_also[3], calls_also[4] = 'c:' .. before, head .. rest end
end
-- alias_ensure(): sets calls_alias, to 0 where all are in use. A consumer without an alias looks for one again
-- with every hundredth claim.
local function alias_ensure(first)
  if not calls_alias or calls_alias == 0 and string.sub(alias_number, -2) == '00' then alias_take(first) end
end
