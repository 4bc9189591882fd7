-- What a partition remembers of a caller: "ms number answer", ms being the last use. The
-- numbers are text of 20 digits, for Lua's own numbers are exact to 15 only.
local function older(a, b)
  local x, y = tonumber(string.sub(a, 1, 10)), tonumber(string.sub(b, 1, 10))
  return x < y or (x == y and tonumber(string.sub(a, 11)) < tonumber(string.sub(b, 11)))
end
-- recall(): the answer if number is the caller's last, and whether it is older than that.
local function recall(field, number)
  local memory = redis.call('HGET', KEYS[6], field)
  local last, answer = string.match(memory or '', '^%d+ (%d+) (.*)$')
  if last == number then return answer, false end
  return nil, last and older(number, last)
end
-- remember(): keeps the answer. Whoever makes a new field looks at a few others and drops
-- those unused for an hour, so that the hash stays small without a scan or a TTL.
local function remember(field, number, answer)
  if redis.call('HSET', KEYS[6], field, now .. ' ' .. number .. ' ' .. answer) == 0 then return end
  local some = redis.call('HRANDFIELD', KEYS[6], 5, 'WITHVALUES')
  for i = 1, #some, 2 do
    local used = tonumber(string.match(some[i + 1], '^%d+'))
    if some[i] ~= '' and used and used < now - 3600000 then redis.call('HDEL', KEYS[6], some[i]) end
  end
end
