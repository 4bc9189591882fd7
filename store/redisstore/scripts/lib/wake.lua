-- Notifies the consumers when the earliest due time has become earlier. wake_first() is called
-- before anything is changed. A user without permission for the channel gets an error
-- from PUBLISH, which must not end a script that has written: hints may be lost.
local function wake_first()
  return tonumber(redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2]) or math.huge
end
local function wake_consumers(before, earliest, channel, hint)
  if earliest < before then redis.pcall('PUBLISH', channel, hint) end
end
