-- For check: what must hold of each element.
-- audit_message(): of a message found in a zset, due, dead or leased, unless it is in one
-- that comes before.
local function audit_message(part, id)
  local record = redis.call('HGET', KEYS[2], id)
  if not record then return problems_add(id, 'is ' .. part .. ', but has no record') end
  problems_bytes = problems_bytes + #record
  local due, dead = redis.call('ZSCORE', KEYS[4], id), redis.call('ZSCORE', KEYS[5], id)
  local attempt = history_parse(redis.call('HGET', KEYS[1], 'h:' .. id)) + 1
  local held = redis.call('ZMSCORE', KEYS[3], receipt_of(id, attempt, ''), receipt_of(id, attempt, 'k'))
  if due and part ~= 'due' or dead and part == 'leased' then return end
  local zsets = (due and 1 or 0) + (dead and 1 or 0) + (held[1] and 1 or 0) + (held[2] and 1 or 0)
  if zsets ~= 1 then problems_add(id, 'is in ' .. zsets .. ' of the zsets due, leased, dead, want 1') end
  local most, _, key, _, repeats, name = record_parse(record)
  if not most then
    -- An empty record among the dead stands for one that was lost, and known to be.
    if not (dead and #record == 12) then problems_add(id, 'its record cannot be read') end
    return
  end
  local named = (name or key) ~= ''
  if held[named and 1 or 2] then problems_add(id, 'its receipt is wrong about its key') end
  local grave = dead and named and redis.call('HGET', KEYS[1], 'e:' .. id)
  if grave ~= (dead and named and (name or key)) then problems_add(id, 'is dead, but is not found by its key') end
  local holder = key ~= '' and redis.call('HGET', KEYS[1], 'k:' .. key)
  local mine = holder and string.sub(holder, 1, 26) == id
  if mine and dead then problems_add(id, 'is dead, but has its key') end
  if key ~= '' and not mine and not dead then problems_add(id, 'does not have its key') end
  if mine and repeats and string.sub(holder, 28) ~= schedule_of(record) then
    problems_add(id, 'its schedule is not that of its key')
  end
end
-- audit_alias(): of an alias. The bounds of n aliases are those of 1 to n, unless some were lost.
local function audit_alias(element, score)
  local alias = tonumber(string.match(element, '^=(%d+)$'))
  if not alias or alias < 1 or alias > 1023 then return problems_add(element, 'is not an alias') end
  if tonumber(score) < LEASED_BOUNDS then problems_add(element, 'is among the leases') end
end
local function audit_leased(receipt, score)
  if string.byte(receipt) == 61 then return audit_alias(receipt, score) end
  local alias = score % 1024
  local bound = alias > 0 and tonumber(redis.call('ZSCORE', KEYS[3], '=' .. alias) or 0)
  if bound and bound - LEASED_BOUNDS < math.floor(score / 1024) then
    problems_add(receipt, 'is leased for longer than its holder has leases')
  end
  local id, attempt = string.sub(receipt, 1, 26), receipt_attempt(receipt)
  if not attempt then return problems_add(receipt, 'is leased, but not a receipt') end
  local deliveries = history_parse(redis.call('HGET', KEYS[1], 'h:' .. id))
  if deliveries + 1 ~= attempt then return problems_add(receipt, 'is leased after ' .. deliveries .. ' deliveries') end
  audit_message('leased', id)
end
-- audit_record(): whether a message is in a zset at all. The audit of that zset checks
-- the rest.
local function audit_record(id, record)
  problems_bytes = problems_bytes + #record
  if not state_of(id) then problems_add(id, 'is in 0 of the zsets due, leased, dead, want 1') end
end
