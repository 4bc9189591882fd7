-- Makes messages dead. Their records and histories stay, their keys are free. One without
-- a readable record gets an empty one, so that it is listed and counted, never delivered.
local function bury(id, key, readable)
  dead[#dead + 1], dead[#dead + 2] = digits(now), id
  unkey(key)
  if not readable then
    blank[#blank + 1], blank[#blank + 2] = id, '\1' .. string.rep('\0', 11)
  end
end
local function entomb()
  if #dead == 0 then return end
  redis.call('ZREM', KEYS[3], '-')
  redis.call('ZADD', KEYS[5], unpack(dead))
  count('dead_lettered', #dead / 2)
  dead = {}
end
