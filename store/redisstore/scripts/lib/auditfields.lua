-- For check, behind audit: what must hold of the fields of side and past.
-- audit_graves(): of the dead messages that a key is to find.
local function audit_graves(field, key, value)
  local ids = ids_of(value)
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
    local known = {layout = 1, version = 1, partitions = 1, changed_by = 1, room = 1, keep = 1, done = 1, tried = 1, stops = 1, largest = 1, windows = 1}
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
-- audit_past(): of what past has, the records of done messages and their index by key.
local function audit_past(field, value)
  local kind, name = string.match(field, '^([de]):(.*)$')
  if kind == 'd' then
    local ids = ids_of(value)
    local keys = redis.call('HMGET', KEYS[8], unpack(prefixed('e:', ids)))
    for i, id in ipairs(ids) do
      if keys[i] ~= name then bad(field, id .. ' has no such key') end
    end
    return
  end
  local id = kind and name or field
  if not redis.call('ZSCORE', KEYS[7], id) then return bad(field, 'belongs to no done message') end
  if kind then return end
  read = read + #value
  local _, _, record = unwrap(value)
  local most, _, key, _, _, name = parse(record)
  if not most then return bad(id, 'is done, but its record cannot be read') end
  if (name or key) ~= (redis.call('HGET', KEYS[8], 'e:' .. id) or '') then bad(id, 'is done, but not with its key') end
end
-- audit_call(): of the aliases in calls. A name that was lost is no wrong one.
local function audit_call(field, value)
  read = read + #value
  local name = string.match(field, '^c:([^=]*)$')
  local alias = name and tonumber(string.match(value, '^%d+ %d+:(%d+)'))
  local other = alias and redis.call('HGET', KEYS[6], 'a:' .. alias)
  if other and other ~= name then bad(field, 'has the alias ' .. alias .. ' of ' .. other) end
end
local function audit(part, element, value)
  if element == '' then return end
  if part == 'past' then return audit_past(element, value) end
  if part == 'done' then
    if redis.call('HEXISTS', KEYS[8], element) == 0 then bad(element, 'is done, but has no record') end
    return
  end
  if part == 'msg' then return audit_record(element, value) end
  if part == 'leased' then return audit_leased(element, value) end
  if part == 'calls' then return audit_call(element, value) end
  if part == 'side' then return audit_side(element, value) end
  audit_message(part, element)
end
