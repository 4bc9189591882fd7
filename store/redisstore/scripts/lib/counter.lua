-- Adds to a counter.
local function counter_add(name, n)
  if n > 0 then redis.call('HINCRBY', KEYS[1], 'n:' .. name, n) end
end
