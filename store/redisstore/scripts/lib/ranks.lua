-- The zsets by state, and ranks in them.
local function ranks_count(state, low, high)
  if state == 'leased' then return redis.call('ZCOUNT', KEYS[3], low, high) end
  if state == 'dead' then return redis.call('ZCOUNT', KEYS[5], low, high) end
  if state == 'done' then return redis.call('ZCOUNT', KEYS[7], low, high) end
  return redis.call('ZCOUNT', KEYS[4], low, high)
end
local function ranks_range(state, low, high)
  if state == 'leased' then return redis.call('ZRANGE', KEYS[3], low, high, 'WITHSCORES') end
  if state == 'dead' then return redis.call('ZRANGE', KEYS[5], low, high, 'WITHSCORES') end
  if state == 'done' then return redis.call('ZRANGE', KEYS[7], low, high, 'WITHSCORES') end
  return redis.call('ZRANGE', KEYS[4], low, high, 'WITHSCORES')
end
-- ranks_bounds(): the first rank of a state, and the one after its last.
local function ranks_bounds(state)
  if state == 'ready' then return 0, ranks_count(state, '-inf', clock_now) end
  if state == 'scheduled' then
    local ready = ranks_count(state, '-inf', clock_now)
    return ready, ready + ranks_count(state, '(' .. clock_now, '(+inf')
  end
  return 0, ranks_count(state, '-inf', state == 'leased' and LEASED_RANGE or '(+inf')
end
-- ranks_less(): whether a comes before b, byte by byte. Lua's < would ask the locale.
local function ranks_less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
-- ranks_place(): how many elements are before (score, member), there or not.
local function ranks_place(state, score, member)
  local low = ranks_count(state, '-inf', '(' .. score)
  local high = low + ranks_count(state, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if ranks_less(ranks_range(state, middle, middle)[1], member) then low = middle + 1 else high = middle end
  end
  return low
end
-- ranks_page(): elements and scores of up to limit ranks from low, or descending from the one below high.
local function ranks_page(state, low, high, limit, descending)
  if not descending then return ranks_range(state, low, math.min(low + limit, high) - 1) end
  local found, out = ranks_range(state, math.max(low, high - limit), high - 1), {}
  for i = #found - 1, 1, -2 do out[#out + 1], out[#out + 2] = found[i], found[i + 1] end
  return out
end
