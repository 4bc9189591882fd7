-- What to say of a receipt that is not leased, for a verdict that ends a delivery in the
-- way `how`: a repetition of the call that ended it is a success.
local function lost(receipt, how)
  local id = string.sub(receipt, 1, 26)
  if redis.call('HEXISTS', KEYS[2], id) == 0 then return GONE end
  local d, _, ended = past(redis.call('HGET', KEYS[1], 'h:' .. id))
  if d == attempt_of(receipt) and ended == how then return OK end
  return LEASE_LOST
end
