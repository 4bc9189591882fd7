-- The zsets by state, and ranks in them.
local function between(state, low, high)
  if state == 'leased' then return redis.call('ZCOUNT', KEYS[3], low, high) end
  if state == 'dead' then return redis.call('ZCOUNT', KEYS[5], low, high) end
  if state == 'done' then return redis.call('ZCOUNT', KEYS[7], low, high) end
  return redis.call('ZCOUNT', KEYS[4], low, high)
end
local function range(state, low, high)
  if state == 'leased' then return redis.call('ZRANGE', KEYS[3], low, high, 'WITHSCORES') end
  if state == 'dead' then return redis.call('ZRANGE', KEYS[5], low, high, 'WITHSCORES') end
  if state == 'done' then return redis.call('ZRANGE', KEYS[7], low, high, 'WITHSCORES') end
  return redis.call('ZRANGE', KEYS[4], low, high, 'WITHSCORES')
end
-- bounds(): the first rank of a state, and the one after its last.
local function bounds(state)
  if state == 'ready' then return 0, between(state, '-inf', now) end
  if state == 'scheduled' then
    local ready = between(state, '-inf', now)
    return ready, ready + between(state, '(' .. now, '(+inf')
  end
  return 0, between(state, '-inf', state == 'leased' and LEASES or '(+inf')
end
-- less(): whether a comes before b, byte by byte. Lua's < would ask the locale.
local function less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
-- beyond(): the rank of the first element after (score, member), there or not.
local function beyond(state, score, member)
  local low = between(state, '-inf', '(' .. score)
  local high = low + between(state, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if less(member, range(state, middle, middle)[1]) then high = middle else low = middle + 1 end
  end
  return low
end
