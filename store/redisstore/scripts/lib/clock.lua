-- For ack, which needs the time only when something is to be remembered.
local now, up = 0, 0
if windows or keeps then
  local t = redis.call('TIME')
  now, up = t[1] * 1000 + math.floor(t[2] / 1000), t[1] * 1000 + math.ceil(t[2] / 1000)
end
