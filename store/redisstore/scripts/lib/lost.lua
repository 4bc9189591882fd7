-- What to say of a receipt that is not leased, for a verdict that ends a delivery in the
-- way `how`: a repetition of the call that ended it is a success.
local function lost_code(receipt, how)
  local id = string.sub(receipt, 1, 26)
  if redis.call('HEXISTS', KEYS[2], id) == 0 then return CODE_GONE end
  local d, _, ended = history_parse(redis.call('HGET', KEYS[1], 'h:' .. id))
  if d == receipt_attempt(receipt) and ended == how then return CODE_OK end
  return CODE_LEASE_LOST
end
