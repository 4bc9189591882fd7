-- Histories and cancel requests, of messages that have one.
local function prefixed(prefix, ids)
  local out = {}
  for i = 1, #ids do out[i] = prefix .. ids[i] end
  return out
end
local function history(ids)
  if tried == 0 or #ids == 0 then return {} end
  return redis.call('HMGET', KEYS[1], unpack(prefixed('h:', ids)))
end
local function cancelling(ids)
  if stops == 0 or #ids == 0 then return {} end
  return redis.call('HMGET', KEYS[1], unpack(prefixed('x:', ids)))
end
-- past(h): deliveries, failures, how the last delivery ended.
local function past(h)
  if not h then return 0, 0, '' end
  local d, f, how = string.match(h, '^(%d+) (%d+) (%S)$')
  return tonumber(d) or 0, tonumber(f) or 0, how or ''
end
