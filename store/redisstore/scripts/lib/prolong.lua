-- For extend and start, ARGV being n receipts and n leases. prolong_leases(): makes the leases
-- last longer, never shorter, says what became of each, and returns the ids of those that
-- are leased.
local function prolong_leases(n)
  local held = redis.call('ZMSCORE', KEYS[3], unpack(ARGV, 1, n))
  local ends, ids, at, bounds = {}, {}, {}, {}
  for i = 1, n do
    local id = string.sub(ARGV[i], 1, 26)
    if held[i] then
      local alias, instant = held[i] % 1024, clock_up + ARGV[i + n]
      ends[#ends + 1], ends[#ends + 2] = instant_text(instant * 1024 + alias), ARGV[i]
      if alias > 0 then bounds[alias] = math.max(bounds[alias] or 0, instant) end
      ids[#ids + 1], at[#at + 1] = id, i
    else
      answer_add(i, redis.call('HEXISTS', KEYS[2], id) == 1 and CODE_LEASE_LOST or CODE_GONE)
    end
  end
  for alias, instant in pairs(bounds) do
    ends[#ends + 1], ends[#ends + 2] = string.format('%d', LEASED_BOUNDS + instant), '=' .. alias
  end
  if #ends > 0 then
    redis.call('ZREM', KEYS[3], '-')
    redis.call('ZADD', KEYS[3], 'XX', 'GT', unpack(ends))
  end
  local stop = history_cancels(ids)
  for j = 1, #at do
    if stop[j] then answer_add(at[j], CODE_CANCELLED) end
  end
  return ids
end
