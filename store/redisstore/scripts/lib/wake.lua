-- Tells the consumers when the earliest due time has become earlier. first() is asked
-- before anything is changed.
local function first()
  return tonumber(redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2]) or math.huge
end
local function wake(before, earliest)
  if earliest < before then redis.call('PUBLISH', ARGV[1], ARGV[2]) end
end
