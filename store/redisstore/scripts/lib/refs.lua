-- Finds the message that a reference names: an id, or 'k:' and a key. A key belongs to a
-- message that is scheduled, ready or leased.
local function named(ref)
  if string.sub(ref, 1, 2) ~= 'k:' then return ref end
  local holder = redis.call('HGET', KEYS[1], ref)
  return holder and string.sub(holder, 1, 26)
end
