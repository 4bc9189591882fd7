-- For check, behind audit: what must hold of the fields of side and past.
-- auditfields_dead(): of the dead messages that a key is to find.
local function auditfields_dead(field, key, value)
  local ids = index_ids(value)
  local keys = redis.call('HMGET', KEYS[1], unpack(fields_of('e:', ids)))
  for i, id in ipairs(ids) do
    if keys[i] ~= key then problems_add(field, id .. ' has no such key') end
  end
end
local function auditfields_side(field, value)
  local kind, name = string.match(field, '^([wug]):(.*)$')
  if kind then return auditmemory_field(field, kind, name, value) end
  kind, name = string.match(field, '^([khfxde]):(.*)$')
  if kind == 'k' then
    local id = string.sub(value, 1, 26)
    local record = redis.call('HGET', KEYS[2], id)
    local _, _, key = record_parse(record)
    problems_bytes = problems_bytes + #(record or '')
    if key ~= name then problems_add(field, 'its holder ' .. id .. ' has no such key') end
    return
  elseif kind == 'd' then
    return auditfields_dead(field, name, value)
  elseif not kind then
    local known = {layout = 1, version = 1, partitions = 1, changed_by = 1, max_live = 1, keep = 1, done = 1,
      tried = 1, stops = 1, largest = 1, windows = 1}
    for i = 1, #settings_names do known[settings_names[i]] = 1 end
    if not known[field] and not string.match(field, '^n:[a-z_]+$') then problems_add(field, 'is not known') end
    return
  end
  if redis.call('HEXISTS', KEYS[2], name) == 0 then return problems_add(field, 'belongs to no message') end
  if kind == 'h' and not string.match(value, '^%d+%.?%d* %d+%.?%d* [nrzgdjl-][uc]?s?$') then
    problems_add(field, 'cannot be read')
  end
  if kind == 'h' and partition_tried == 0 then problems_add(field, 'is not counted') end
  if kind == 'f' and not texts_whole(value) then problems_add(field, 'cannot be read') end
  if kind == 'f' and redis.call('HEXISTS', KEYS[1], 'h:' .. name) == 0 then problems_add(field, 'has no history') end
  if kind == 'x' and state_of(name) ~= 'leased' then problems_add(field, 'belongs to a message that is not leased') end
  if kind == 'x' and partition_stops == 0 then problems_add(field, 'is not counted') end
  if kind == 'e' and state_of(name) ~= 'dead' then problems_add(field, 'belongs to a message that is not dead') end
end
local function auditfields_done(id)
  if redis.call('HEXISTS', KEYS[8], id) == 0 then problems_add(id, 'is done, but has no record') end
end
-- auditfields_past(): of what past has, the records of done messages and their index by key.
local function auditfields_past(field, value)
  local kind, name = string.match(field, '^([de]):(.*)$')
  if kind == 'd' then
    local ids = index_ids(value)
    local keys = redis.call('HMGET', KEYS[8], unpack(fields_of('e:', ids)))
    for i, id in ipairs(ids) do
      if keys[i] ~= name then problems_add(field, id .. ' has no such key') end
    end
    return
  end
  local id = kind and name or field
  if not redis.call('ZSCORE', KEYS[7], id) then return problems_add(field, 'belongs to no done message') end
  if kind then return end
  problems_bytes = problems_bytes + #value
  local _, _, record = past_parse(value)
  local most, _, key, _, _, name = record_parse(record)
  if not most then return problems_add(id, 'is done, but its record cannot be read') end
  if (name or key) ~= (redis.call('HGET', KEYS[8], 'e:' .. id) or '') then
    problems_add(id, 'is done, but not with its key')
  end
end
-- auditfields_call(): of the aliases in calls. A name that was lost is no wrong one.
local function auditfields_call(field, value)
  problems_bytes = problems_bytes + #value
  local name = string.match(field, '^c:([^=]*)$')
  local alias = name and tonumber(string.match(value, '^%d+ %d+:(%d+)'))
  local other = alias and redis.call('HGET', KEYS[6], 'a:' .. alias)
  if other and other ~= name then problems_add(field, 'has the alias ' .. alias .. ' of ' .. other) end
end
