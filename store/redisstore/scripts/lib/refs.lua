-- Finds the message that a reference names: an id, or 'k:' and a key. A key names the message
-- that is scheduled, ready or leased with it or, if there is none, the one that died last.
local function refs_id(ref)
  if string.sub(ref, 1, 2) ~= 'k:' then return ref end
  local holder = redis.call('HGET', KEYS[1], ref)
  if holder then return string.sub(holder, 1, 26) end
  local graves = redis.call('HGET', KEYS[1], 'd' .. string.sub(ref, 2))
  return graves and string.sub(graves, -26)
end
