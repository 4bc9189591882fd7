-- What a partition remembers of a caller: "ms number answer", ms being the last use, and of a
-- consumer that has an alias "ms number:alias answer". A long answer is in a field of its own,
-- with "=" behind the name, so that looking for the number does not copy it. The numbers are
-- text of 20 digits, for Lua's own numbers are exact to 15 only.
local CALLS_LONG = 100
local calls_known, calls_apart, calls_alias = false, false, nil
-- also: further fields that calls_remember() writes.
local calls_also = {}
local function calls_older(a, b)
  local x, y = tonumber(string.sub(a, 1, 10)), tonumber(string.sub(b, 1, 10))
  return x < y or (x == y and tonumber(string.sub(a, 11)) < tonumber(string.sub(b, 11)))
end
-- calls_recall(): the answer if number is the caller's last, and whether it is older than that.
local function calls_recall(field, number)
  local memory = redis.call('HGET', KEYS[6], field)
  if not memory then return nil, false end
  local last, by, answer = string.match(memory, '^%d+ (%d+):?(%d*) ?(.*)$')
  calls_known, calls_apart, calls_alias = true, string.byte(memory, -1) == 61, tonumber(by)
  if last ~= number then return nil, last and calls_older(number, last) end
  if calls_apart then answer = redis.call('HGET', KEYS[6], field .. '=') or '' end
  return answer, false
end
-- calls_drop_old(): reads a few callers, and drops those unused for an hour. So the hash stays small
-- without a scan or a TTL. Names of aliases are not dropped: a lease may have them.
local function calls_drop_old()
  local some = redis.call('HRANDFIELD', KEYS[6], 5)
  for i = 1, #some do some[i] = string.match(some[i], '^[^=]*') end
  local memories = redis.call('HMGET', KEYS[6], unpack(some))
  for i = 1, #some do
    local used = tonumber(string.match(memories[i] or '', '^%d+')) or 0
    if some[i] ~= '' and string.sub(some[i], 1, 2) ~= 'a:' and used < clock_now - 3600000 then
      redis.call('HDEL', KEYS[6], some[i], some[i] .. '=')
    end
  end
end
-- calls_remember(): keeps the answer, to be called after calls_recall() of the same field. A new caller,
-- and each one in every hundredth call, drops old ones.
local function calls_remember(field, number, answer)
  local head = clock_now .. ' ' .. number .. (calls_alias and ':' .. calls_alias or '') .. ' '
  if #answer > CALLS_LONG then
    redis.call('HSET', KEYS[6], field, head .. '=', field .. '=', answer, unpack(calls_also))
  else
    redis.call('HSET', KEYS[6], field, head .. answer, unpack(calls_also))
    if calls_apart then redis.call('HDEL', KEYS[6], field .. '=') end
  end
  if not calls_known or string.sub(number, -2) == '00' then calls_drop_old() end
end
