-- The one clock. now is rounded down: what it has reached is due, or has run out. up is
-- rounded up: spans begin there, so that they never end early by a fraction. micros: the fraction of
-- a millisecond by which now is rounded. To be read once.
local clock_now, clock_up, clock_micros = 0, 0, 0
local function clock_read()
  local t = redis.call('TIME')
  clock_now, clock_up = t[1] * 1000 + math.floor(t[2] / 1000), t[1] * 1000 + math.ceil(t[2] / 1000)
  clock_micros = t[2] % 1000
end
