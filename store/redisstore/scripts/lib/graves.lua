-- The index of dead messages by key: d:KEY has the ids of those that died last with the key,
-- GRAVES of them at most, the last one at the end; e:ID has the key of each dead one.
local GRAVES = 16
-- below(): the list of a key with another id, which died now. They are in the order of death
-- also when the clock has been set back.
local function below(list, id)
  local ids = {}
  for other in string.gmatch(list or '', '%S+') do ids[#ids + 1] = other end
  local at = #ids + 1
  local died = #ids > 0 and redis.call('ZMSCORE', KEYS[5], unpack(ids)) or {}
  while at > 1 and died[at - 1] and tonumber(died[at - 1]) > now do at = at - 1 end
  table.insert(ids, at, id)
  if #ids > GRAVES then table.remove(ids, 1) end
  return table.concat(ids, ' ')
end
