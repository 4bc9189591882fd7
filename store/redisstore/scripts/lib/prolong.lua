-- For extend and start. prolong_leases(): makes the leases of the receipts ARGV[first] to ARGV[last]
-- last longer, never shorter, says what became of each, and returns the ids of those that
-- are leased.
local function prolong_leases(first, last, lease)
  local held = redis.call('ZMSCORE', KEYS[3], unpack(ARGV, first, last))
  local instant, ends, ids, at, bounds = clock_up + lease, {}, {}, {}, {}
  for i = 1, #held do
    local receipt = ARGV[first - 1 + i]
    local id = string.sub(receipt, 1, 26)
    if held[i] then
      local alias = held[i] % 1024
      ends[#ends + 1], ends[#ends + 2] = instant_text(instant * 1024 + alias), receipt
      if alias > 0 then bounds[alias] = string.format('%d', LEASED_BOUNDS + instant) end
      ids[#ids + 1], at[#at + 1] = id, i
    else
      answer_add(i, redis.call('HEXISTS', KEYS[2], id) == 1 and CODE_LEASE_LOST or CODE_GONE)
    end
  end
  for alias, bound in pairs(bounds) do
    ends[#ends + 1], ends[#ends + 2] = bound, '=' .. alias
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
