-- The one clock. now is rounded down: what it has reached is due, or has run out. up is
-- rounded up: spans begin there, so that they never end early by a fraction.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local up = t[1] * 1000 + math.ceil(t[2] / 1000)
-- digits(): an instant as text. Redis would write a number with 17 digits, which takes
-- longer than the rest of a ZADD; here equal ones in a row are written once.
local kept, written
local function digits(instant)
  if instant ~= kept then kept, written = instant, string.format('%d', instant) end
  return written
end
local function after(span)
  span = tonumber(span)
  return span > 0 and up + span or now
end
