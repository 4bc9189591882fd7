-- For check: what must hold of each element, and of the sums.
local problems, read = {}, 0
local function bad(element, text)
  if #problems < 4000 then problems[#problems + 1], problems[#problems + 2] = element, text end
end
local function audit_msg(id, record)
  read = read + #record
  local due, dead = redis.call('ZSCORE', KEYS[4], id), redis.call('ZSCORE', KEYS[5], id)
  local attempt = past(redis.call('HGET', KEYS[1], 'h:' .. id)) + 1
  local held = redis.call('ZMSCORE', KEYS[3], receipt_of(id, attempt, ''), receipt_of(id, attempt, 'k'))
  local places = (due and 1 or 0) + (dead and 1 or 0) + (held[1] and 1 or 0) + (held[2] and 1 or 0)
  if places ~= 1 then bad(id, 'is in ' .. places .. ' places, want 1 of due, leased, dead') end
  local most, _, key = parse(record)
  if not most then
    -- An empty record among the dead stands for one that was lost, and known to be.
    if not (dead and #record == 12) then bad(id, 'its record cannot be read') end
    return
  end
  if held[1] and key ~= '' or held[2] and key == '' then bad(id, 'its receipt is wrong about its key') end
  if key == '' then return end
  local holder = redis.call('HGET', KEYS[1], 'k:' .. key)
  local mine = holder and string.sub(holder, 1, 26) == id
  if mine and dead then bad(id, 'is dead, but has its key') end
  if not mine and not dead then bad(id, 'does not have its key') end
end
local function audit_leased(receipt)
  local id, attempt = string.sub(receipt, 1, 26), attempt_of(receipt)
  if not attempt then return bad(receipt, 'is leased, but not a receipt') end
  if redis.call('HEXISTS', KEYS[2], id) == 0 then return bad(receipt, 'is leased, but has no record') end
  local deliveries = past(redis.call('HGET', KEYS[1], 'h:' .. id))
  if deliveries + 1 ~= attempt then bad(receipt, 'is leased after ' .. deliveries .. ' deliveries') end
end
local function audit_side(field, value)
  local kind, name = string.match(field, '^([khfx]):(.*)$')
  if kind == 'k' then
    local id = string.sub(value, 1, 26)
    local record = redis.call('HGET', KEYS[2], id)
    local _, _, key = parse(record)
    read = read + #(record or '')
    if key ~= name then bad(field, 'its holder ' .. id .. ' has no such key') end
    return
  elseif not kind then
    local known = {layout = 1, paused = 1, max = 1, tried = 1, stops = 1, version = 1}
    if not known[field] and not string.match(field, '^n:[a-z_]+$') then bad(field, 'is not known') end
    return
  end
  if redis.call('HEXISTS', KEYS[2], name) == 0 then return bad(field, 'belongs to no message') end
  if kind == 'h' and not string.match(value, '^%d+ %d+ [nrjl-]$') then bad(field, 'cannot be read') end
  if kind == 'h' and tried == 0 then bad(field, 'is not counted') end
  if kind == 'f' and redis.call('HEXISTS', KEYS[1], 'h:' .. name) == 0 then bad(field, 'has no history') end
  if kind == 'x' and place(name) ~= 'leased' then bad(field, 'belongs to a message that is not leased') end
  if kind == 'x' and stops == 0 then bad(field, 'is not counted') end
end
local function audit(part, element, value)
  if part == 'msg' then return audit_msg(element, value) end
  if part == 'leased' then return audit_leased(element) end
  if part == 'side' then return audit_side(element, value) end
  if redis.call('HEXISTS', KEYS[2], element) == 0 then bad(element, 'is ' .. part .. ', but has no record') end
end
local function audit_sums(most)
  local n = redis.call('HMGET', KEYS[1], 'n:sent', 'n:acked', 'n:cancelled', 'n:replaced', 'n:expired', 'n:purged')
  for i = 1, #n do n[i] = tonumber(n[i]) or 0 end
  local left = n[2] + n[3] + n[4] + n[5] + n[6]
  local live = redis.call('HLEN', KEYS[2]) - 1
  local places = redis.call('ZCARD', KEYS[3]) + redis.call('ZCARD', KEYS[4]) + redis.call('ZCARD', KEYS[5]) - 3
  if live ~= places then bad('', live .. ' records, but ' .. places .. ' places') end
  if n[1] ~= left + places then bad('', n[1] .. ' sent, but ' .. left .. ' gone and ' .. places .. ' live') end
  local whole = redis.call('ZSCORE', KEYS[3], '') and redis.call('ZSCORE', KEYS[4], '') and redis.call('ZSCORE', KEYS[5], '')
  if not whole or redis.call('HEXISTS', KEYS[2], '') == 0 then bad('', 'a key has lost its permanent element') end
  if redis.call('HLEN', KEYS[1]) > most then return end
  local h, x = 0, 0
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    local kind = string.sub(field, 1, 2)
    h, x = h + (kind == 'h:' and 1 or 0), x + (kind == 'x:' and 1 or 0)
  end
  if h ~= tried then bad('', h .. ' histories, but ' .. tried .. ' counted') end
  if x ~= stops then bad('', x .. ' cancel requests, but ' .. stops .. ' counted') end
end
