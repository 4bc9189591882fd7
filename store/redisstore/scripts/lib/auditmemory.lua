-- For check: what must hold of what is remembered.
local function auditmemory_field(field, kind, name, value)
  if not partition_windows then return problems_add(field, 'is not counted') end
  local _, first, next = string.match(partition_windows, '^(%d+) (%d+) (%d+)$')
  if kind == 'w' then
    local at, dedup = string.match(value, '^(@?)%d+ ?(%w*)$')
    if not at then return problems_add(field, 'cannot be read') end
    local live = redis.call('HEXISTS', KEYS[2], name) == 1
    if at == '' and not live then problems_add(field, 'belongs to no message') end
    if at == '' and dedup ~= '' and redis.call('HGET', KEYS[1], 'u:' .. dedup) ~= name then
      problems_add(field, 'does not have its dedup id')
    end
  elseif kind == 'u' then
    local its = redis.call('HGET', KEYS[1], 'w:' .. value) or ''
    if string.sub(its, -27) ~= ' ' .. name then
      problems_add(field, 'its holder ' .. value .. ' has no such dedup id')
    end
  elseif tonumber(name) < tonumber(first) or tonumber(name) >= tonumber(next) then
    problems_add(field, 'is not counted')
  end
end
