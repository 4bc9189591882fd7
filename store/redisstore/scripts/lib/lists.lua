-- The indexes by key: of the dead in side, of the done in past. d:KEY has the ids of the
-- messages that died or ended last with the key, LISTED of them at most, the last one at the
-- end; e:ID has the key of each message that is dead or done.
local LISTED = 16
local function ids_of(list)
  local ids = {}
  for id in string.gmatch(list or '', '%S+') do ids[#ids + 1] = id end
  return ids
end
-- listed(): a list with another id, of an instant. at: when the others died or ended, as far as it
-- matters. They are in that order also when the clock has been set back.
local function listed(ids, at, id, instant)
  local i = #ids + 1
  while i > 1 and at[i - 1] and tonumber(at[i - 1]) > instant do i = i - 1 end
  table.insert(ids, i, id)
  if #ids > LISTED then table.remove(ids, 1) end
  return table.concat(ids, ' ')
end
-- leaving(): of messages that leave an index, and the keys of those that have one: which
-- keys there are, which of the messages have each, and the fields to be removed.
local function leaving(ids, keys)
  local names, of, drop = {}, {}, {}
  for i, id in ipairs(ids) do
    local key = keys[i]
    if key then
      if not of[key] then names[#names + 1], of[key] = key, {} end
      of[key][id], drop[#drop + 1] = true, 'e:' .. id
    end
  end
  return names, of, drop
end
-- thin(): takes messages out of the lists of their keys. Adds to drop the fields of those that are empty
-- then, and returns the others.
local function thin(names, of, drop, lists)
  local keep = {}
  for i, key in ipairs(names) do
    local left = {}
    for _, id in ipairs(ids_of(lists[i])) do
      if not of[key][id] then left[#left + 1] = id end
    end
    if #left == 0 then
      drop[#drop + 1] = 'd:' .. key
    else
      keep[#keep + 1], keep[#keep + 2] = 'd:' .. key, table.concat(left, ' ')
    end
  end
  return keep
end
