-- failed(): what lost() says to a nack, which also says whether it was the last one: then the
-- message is dead, or a letter was made of its occurrence, and the history says 'd'.
local function failed(receipt)
  local code = lost(receipt, 'n')
  if code == OK and redis.call('ZSCORE', KEYS[5], string.sub(receipt, 1, 26)) then return DEAD end
  if code == LEASE_LOST and lost(receipt, 'd') == OK then return DEAD end
  return code
end
