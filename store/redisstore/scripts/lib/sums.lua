-- For check: what must hold of a partition as a whole.
-- sums_ordered(): how many messages are in a zset. sums_complete(): whether there are as many records.
local function sums_ordered()
  return redis.call('ZCOUNT', KEYS[3], '-inf', LEASED_RANGE)
    + redis.call('ZCARD', KEYS[4]) + redis.call('ZCARD', KEYS[5]) - 2
end
local function sums_complete()
  return redis.call('HLEN', KEYS[2]) - 1 == sums_ordered()
end
local function sums_audit(most)
  local n = redis.call('HMGET', KEYS[1],
    'n:sent', 'n:acked', 'n:cancelled', 'n:replaced', 'n:expired', 'n:purged', 'n:dead_expired')
  for i = 1, #n do n[i] = tonumber(n[i]) or 0 end
  local left = n[2] + n[3] + n[4] + n[5] + n[6] + n[7]
  local live = redis.call('HLEN', KEYS[2]) - 1
  local count = sums_ordered()
  if live ~= count then problems_add('', live .. ' records, but ' .. count .. ' in sorted sets') end
  if n[1] ~= left + count then problems_add('', n[1] .. ' sent, but ' .. left .. ' gone and ' .. count .. ' live') end
  local whole = redis.call('ZSCORE', KEYS[3], '') and redis.call('ZSCORE', KEYS[4], '')
    and redis.call('ZSCORE', KEYS[5], '') and redis.call('ZSCORE', KEYS[7], '')
  if not whole or redis.call('HEXISTS', KEYS[2], '') == 0 or redis.call('HEXISTS', KEYS[8], '') == 0 then
    problems_add('', 'a key has lost its permanent element')
  end
  if redis.call('HLEN', KEYS[1]) > most then return end
  local h, x, w = 0, 0, 0
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    local kind = string.sub(field, 1, 2)
    if kind == 'w:' and string.sub(redis.call('HGET', KEYS[1], field), 1, 1) ~= '@' then w = w + 1 end
    h, x = h + (kind == 'h:' and 1 or 0), x + (kind == 'x:' and 1 or 0)
  end
  local live = string.match(partition_windows or '0', '^%d+')
  if w ~= tonumber(live) then problems_add('', w .. ' live messages to be remembered, but ' .. live .. ' counted') end
  if h ~= partition_tried then problems_add('', h .. ' histories, but ' .. partition_tried .. ' counted') end
  if x ~= partition_stops then problems_add('', x .. ' cancel requests, but ' .. partition_stops .. ' counted') end
end
