-- For check: what must hold of what is remembered.
local function audit_memory(field, kind, name, value)
  if not windows then return bad(field, 'is not counted') end
  local _, first, next = string.match(windows, '^(%d+) (%d+) (%d+)$')
  if kind == 'w' then
    local at, dedup = string.match(value, '^(@?)%d+ ?(%w*)$')
    if not at then return bad(field, 'cannot be read') end
    local live = redis.call('HEXISTS', KEYS[2], name) == 1
    if at == '' and not live then bad(field, 'belongs to no message') end
    if at == '' and dedup ~= '' and redis.call('HGET', KEYS[1], 'u:' .. dedup) ~= name then bad(field, 'does not have its dedup id') end
  elseif kind == 'u' then
    local its = redis.call('HGET', KEYS[1], 'w:' .. value) or ''
    if string.sub(its, -27) ~= ' ' .. name then bad(field, 'its holder ' .. value .. ' has no such dedup id') end
  elseif tonumber(name) < tonumber(first) or tonumber(name) >= tonumber(next) then
    bad(field, 'is not counted')
  end
end
