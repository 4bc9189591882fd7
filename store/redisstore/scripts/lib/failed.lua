-- failed_code(): what lost_code() is for a nack, except that it also reports whether it was the last one: then the
-- message is dead, or a letter was made of its occurrence, and the history says 'd'.
local function failed_code(receipt)
  local code = lost_code(receipt, 'n')
  if code == CODE_OK and redis.call('ZSCORE', KEYS[5], string.sub(receipt, 1, 26)) then return CODE_DEAD end
  if code == CODE_LEASE_LOST and lost_code(receipt, 'd') == CODE_OK then return CODE_DEAD end
  return code
end
