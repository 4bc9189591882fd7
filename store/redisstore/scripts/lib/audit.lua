-- For check: what must hold of each element.
-- audit_message(): of a message found in a place, due, dead or leased, unless it is in one
-- that comes before.
local function audit_message(part, id)
  local record = redis.call('HGET', KEYS[2], id)
  if not record then return bad(id, 'is ' .. part .. ', but has no record') end
  read = read + #record
  local due, dead = redis.call('ZSCORE', KEYS[4], id), redis.call('ZSCORE', KEYS[5], id)
  local attempt = past(redis.call('HGET', KEYS[1], 'h:' .. id)) + 1
  local held = redis.call('ZMSCORE', KEYS[3], receipt_of(id, attempt, ''), receipt_of(id, attempt, 'k'))
  if due and part ~= 'due' or dead and part == 'leased' then return end
  local places = (due and 1 or 0) + (dead and 1 or 0) + (held[1] and 1 or 0) + (held[2] and 1 or 0)
  if places ~= 1 then bad(id, 'is in ' .. places .. ' places, want 1 of due, leased, dead') end
  local most, _, key, _, repeats, name = parse(record)
  if not most then
    -- An empty record among the dead stands for one that was lost, and known to be.
    if not (dead and #record == 12) then bad(id, 'its record cannot be read') end
    return
  end
  local named = (name or key) ~= ''
  if held[named and 1 or 2] then bad(id, 'its receipt is wrong about its key') end
  local grave = dead and named and redis.call('HGET', KEYS[1], 'e:' .. id)
  if grave ~= (dead and named and (name or key)) then bad(id, 'is dead, but is not found by its key') end
  local holder = key ~= '' and redis.call('HGET', KEYS[1], 'k:' .. key)
  local mine = holder and string.sub(holder, 1, 26) == id
  if mine and dead then bad(id, 'is dead, but has its key') end
  if key ~= '' and not mine and not dead then bad(id, 'does not have its key') end
  if mine and repeats and string.sub(holder, 28) ~= schedule(record) then bad(id, 'its schedule is not that of its key') end
end
-- audit_bound(): of an alias. The bounds of n aliases are those of 1 to n, unless some were lost.
local function audit_bound(element, score)
  local alias = tonumber(string.match(element, '^=(%d+)$'))
  if not alias or alias < 1 or alias > 1023 then return bad(element, 'is not an alias') end
  if tonumber(score) < BOUNDS then bad(element, 'is among the leases') end
end
local function audit_leased(receipt, score)
  if string.byte(receipt) == 61 then return audit_bound(receipt, score) end
  local alias = score % 1024
  local bound = alias > 0 and tonumber(redis.call('ZSCORE', KEYS[3], '=' .. alias) or 0)
  if bound and bound - BOUNDS < math.floor(score / 1024) then bad(receipt, 'is leased for longer than its holder has leases') end
  local id, attempt = string.sub(receipt, 1, 26), attempt_of(receipt)
  if not attempt then return bad(receipt, 'is leased, but not a receipt') end
  local deliveries = past(redis.call('HGET', KEYS[1], 'h:' .. id))
  if deliveries + 1 ~= attempt then return bad(receipt, 'is leased after ' .. deliveries .. ' deliveries') end
  audit_message('leased', id)
end
-- audit_record(): whether a message has a place at all. The audit of that place checks
-- the rest.
local function audit_record(id, record)
  read = read + #record
  if not place(id) then bad(id, 'is in 0 places, want 1 of due, leased, dead') end
end
