-- exhume(): takes messages that are no longer dead, or gone, out of the index by key.
local function exhume(ids)
  if #ids == 0 then return end
  local keys = redis.call('HMGET', KEYS[1], unpack(prefixed('e:', ids)))
  local leaving, names, drop, keep = {}, {}, {}, {}
  for i, id in ipairs(ids) do
    if keys[i] then
      if not leaving[keys[i]] then names[#names + 1], leaving[keys[i]] = keys[i], {} end
      leaving[keys[i]][id], drop[#drop + 1] = true, 'e:' .. id
    end
  end
  if #drop == 0 then return end
  local lists = redis.call('HMGET', KEYS[1], unpack(prefixed('d:', names)))
  for i, key in ipairs(names) do
    local left = {}
    for id in string.gmatch(lists[i] or '', '%S+') do
      if not leaving[key][id] then left[#left + 1] = id end
    end
    if #left == 0 then
      drop[#drop + 1] = 'd:' .. key
    else
      keep[#keep + 1], keep[#keep + 2] = 'd:' .. key, table.concat(left, ' ')
    end
  end
  redis.call('HDEL', KEYS[1], unpack(drop))
  if #keep > 0 then redis.call('HSET', KEYS[1], unpack(keep)) end
end
