-- The state of a message: 'due' (scheduled or ready), 'dead', 'leased' or nothing, with its score and, when it is
-- leased, its receipt.
local function state_of(id)
  local at = redis.call('ZSCORE', KEYS[4], id)
  if at then return 'due', at end
  at = redis.call('ZSCORE', KEYS[5], id)
  if at then return 'dead', at end
  local attempt = history_parse(partition_tried > 0 and redis.call('HGET', KEYS[1], 'h:' .. id)) + 1
  local plain, keyed = receipt_of(id, attempt, ''), receipt_of(id, attempt, 'k')
  local held = redis.call('ZMSCORE', KEYS[3], plain, keyed)
  if held[1] then return 'leased', held[1], plain end
  if held[2] then return 'leased', held[2], keyed end
end
