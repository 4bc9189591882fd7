-- Makes messages dead. Their records and histories stay, their keys are free, but they can
-- be found by them. One without a readable record gets an empty one, so that it is listed and
-- counted, never delivered. name: the key of one that does not hold it.
local graves, tenants = {}, {}
local function bury(id, key, readable, name)
  dead[#dead + 1], dead[#dead + 2] = digits(now), id
  unkey(key)
  name = name or key
  if name and name ~= '' then graves[#graves + 1], tenants[#tenants + 1] = name, id end
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
  if #graves == 0 then return end
  local lists = redis.call('HMGET', KEYS[1], unpack(prefixed('d:', graves)))
  for i, key in ipairs(graves) do
    local ids = ids_of(lists[i])
    local at = #ids > 0 and redis.call('ZMSCORE', KEYS[5], unpack(ids)) or {}
    notes[#notes + 1], notes[#notes + 2] = 'd:' .. key, listed(ids, at, tenants[i], now)
    notes[#notes + 1], notes[#notes + 2] = 'e:' .. tenants[i], key
  end
  graves, tenants = {}, {}
end
