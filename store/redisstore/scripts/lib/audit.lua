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
local function audit_leased(receipt)
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
-- audit_graves(): of the dead messages that a key is to find.
local function audit_graves(field, key, value)
  local ids = {}
  for id in string.gmatch(value, '%S+') do ids[#ids + 1] = id end
  local keys = redis.call('HMGET', KEYS[1], unpack(prefixed('e:', ids)))
  for i, id in ipairs(ids) do
    if keys[i] ~= key then bad(field, id .. ' has no such key') end
  end
end
local function audit_side(field, value)
  local kind, name = string.match(field, '^([wug]):(.*)$')
  if kind then return audit_memory(field, kind, name, value) end
  kind, name = string.match(field, '^([khfxde]):(.*)$')
  if kind == 'k' then
    local id = string.sub(value, 1, 26)
    local record = redis.call('HGET', KEYS[2], id)
    local _, _, key = parse(record)
    read = read + #(record or '')
    if key ~= name then bad(field, 'its holder ' .. id .. ' has no such key') end
    return
  elseif kind == 'd' then
    return audit_graves(field, name, value)
  elseif not kind then
    local known = {layout = 1, version = 1, partitions = 1, changed_by = 1, room = 1, keep = 1, tried = 1, stops = 1, largest = 1, windows = 1}
    for i = 1, #names do known[names[i]] = 1 end
    if not known[field] and not string.match(field, '^n:[a-z_]+$') then bad(field, 'is not known') end
    return
  end
  if redis.call('HEXISTS', KEYS[2], name) == 0 then return bad(field, 'belongs to no message') end
  if kind == 'h' and not string.match(value, '^%d+%.?%d* %d+%.?%d* [nrzgdjl-][uc]?s?$') then bad(field, 'cannot be read') end
  if kind == 'h' and tried == 0 then bad(field, 'is not counted') end
  if kind == 'f' and redis.call('HEXISTS', KEYS[1], 'h:' .. name) == 0 then bad(field, 'has no history') end
  if kind == 'x' and place(name) ~= 'leased' then bad(field, 'belongs to a message that is not leased') end
  if kind == 'x' and stops == 0 then bad(field, 'is not counted') end
  if kind == 'e' and place(name) ~= 'dead' then bad(field, 'belongs to a message that is not dead') end
end
local function audit(part, element, value)
  if element == '' then return end
  if part == 'msg' then return audit_record(element, value) end
  if part == 'leased' then return audit_leased(element) end
  if part == 'side' then return audit_side(element, value) end
  audit_message(part, element)
end
