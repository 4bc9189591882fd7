-- Adds to a counter.
local function count(name, n)
  if n > 0 then redis.call('HINCRBY', KEYS[1], 'n:' .. name, n) end
end
