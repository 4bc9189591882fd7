-- The indexes by key: of the dead in side, of the done in past. d:KEY has the ids of the
-- messages that died or ended last with the key, MOST of them at most, the last one at the
-- end; e:ID has the key of each message that is dead or done.
local INDEX_MOST = 16
local function index_ids(list)
  local ids = {}
  for id in string.gmatch(list or '', '%S+') do ids[#ids + 1] = id end
  return ids
end
-- index_with(): a list with another id, of an instant. at: when the others died or ended, as far as it
-- matters. They are in that order also when the clock has been set back.
local function index_with(ids, at, id, instant)
  local i = #ids + 1
  while i > 1 and at[i - 1] and tonumber(at[i - 1]) > instant do i = i - 1 end
  table.insert(ids, i, id)
  if #ids > INDEX_MOST then table.remove(ids, 1) end
  return table.concat(ids, ' ')
end
-- index_remove(): takes messages out of the index of a hash. leaving: which of them have each key.
local function index_remove(hash, ids)
  if #ids == 0 then return end
  local keys, leaving, drop, set = {}, {}, {}, {}
  local key_of = redis.call('HMGET', hash, unpack(fields_of('e:', ids)))
  for i, id in ipairs(ids) do
    local key = key_of[i]
    if key then
      if not leaving[key] then keys[#keys + 1], leaving[key] = key, {} end
      leaving[key][id], drop[#drop + 1] = true, 'e:' .. id
    end
  end
  if #drop == 0 then return end
  local lists = redis.call('HMGET', hash, unpack(fields_of('d:', keys)))
  for i, key in ipairs(keys) do
    local left = {}
    for _, id in ipairs(index_ids(lists[i])) do
      if not leaving[key][id] then left[#left + 1] = id end
    end
    if #left == 0 then
      drop[#drop + 1] = 'd:' .. key
    else
      set[#set + 1], set[#set + 2] = 'd:' .. key, table.concat(left, ' ')
    end
  end
  redis.call('HDEL', hash, unpack(drop))
  if #set > 0 then redis.call('HSET', hash, unpack(set)) end
end
