-- What is remembered of messages that are gone. windows: "live first next": how many live
-- messages have a w: field, and the numbers of the first and behind the last g: field; nothing
-- while there is neither.
-- remembered_retire(): messages are gone, so the time of those with a w: field begins; those whose time
-- is over are forgotten, and the first when they are too many, up to 1000 of them.
local REMEMBERED_MOST = 1000000
local function remembered_retire(ids)
  local live, first, next = string.match(partition_windows, '^(%d+) (%d+) (%d+)$')
  live, first, next = tonumber(live) or 0, tonumber(first) or 0, tonumber(next) or 0
  local set, drop, names, early, left = {}, {}, {}, 0, 1000
  local had = #ids > 0 and redis.call('HMGET', KEYS[1], unpack(fields_of('w:', ids))) or {}
  for i = 1, #ids do
    local span, name = string.match(had[i] or '', '^(%d+) ?(%w*)$')
    if span then live = live - 1 end
    if span == '0' then
      drop[#drop + 1] = 'w:' .. ids[i]
      names[#names + 1], names[#names + 2] = 'u:' .. name, ids[i]
    elseif span then
      local ends = string.format('@%d', clock_up + span) .. (name ~= '' and ' ' .. name or '')
      set[#set + 1], set[#set + 2], set[#set + 3], set[#set + 4] = 'w:' .. ids[i], ends, 'g:' .. next, ids[i]
      next = next + 1
    end
  end
  if #set > 0 then redis.call('HSET', KEYS[1], unpack(set)) end
  local look = #ids + 1
  while first < next and left > 0 do
    local numbers, old, over = {}, {}, 0
    for i = first, math.min(first + look, first + left, next) - 1 do numbers[#numbers + 1] = 'g:' .. i end
    old = redis.call('HMGET', KEYS[1], unpack(numbers))
    for i = 1, #old do old[i] = old[i] or '' end
    local ends = redis.call('HMGET', KEYS[1], unpack(fields_of('w:', old)))
    for i = 1, #old do
      local at, name = string.match(ends[i] or '', '^@(%d+) ?(%w*)$')
      if at and tonumber(at) > clock_now then
        if next - first <= REMEMBERED_MOST then break end
        early = early + 1
      end
      if at then drop[#drop + 1] = 'w:' .. old[i] end
      if at and name ~= '' then names[#names + 1], names[#names + 2] = 'u:' .. name, old[i] end
      drop[#drop + 1] = numbers[i]
      first, over = first + 1, over + 1
    end
    if over < #old then break end
    left, look = left - over, look * 4
  end
  local asked = {}
  for i = 1, #names, 2 do asked[#asked + 1] = names[i] end
  local holders = #asked > 0 and redis.call('HMGET', KEYS[1], unpack(asked)) or {}
  for i = 1, #asked do
    if holders[i] == names[2 * i] then drop[#drop + 1] = asked[i] end
  end
  local text = live .. ' ' .. first .. ' ' .. next
  if live == 0 and first == next then text, drop[#drop + 1] = nil, 'windows' end
  -- This order, for Redis allows HDEL at maxmemory, and then what follows.
  if #drop > 0 then redis.call('HDEL', KEYS[1], unpack(drop)) end
  if text and text ~= partition_windows then redis.call('HSET', KEYS[1], 'windows', text) end
  partition_windows = text
  counter_add('forgotten', early)
end
