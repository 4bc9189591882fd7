-- For push: what is remembered, and what is to be. lasting: ids of messages that are gone and
-- remembered; named: the id of the message with a dedup id; spans: how long those of this
-- call are to be remembered, by id.
local windowed = #ARGV > 9 + 6 * n
local lasting, named, spans, watched = {}, {}, {}, {}
local function name_of(i) return windowed and ARGV[9 + 7 * n + i] or '' end
local function load_lasting(ids)
  if #ids == 0 then return end
  local got = redis.call('HMGET', KEYS[1], unpack(prefixed('w:', ids)))
  for i = 1, #ids do
    local ends = tonumber(string.match(got[i] or '', '^@(%d+)'))
    lasting[ids[i]] = ends and ends > now
  end
  return got
end
-- load_known(): old: the records of those ids that are live.
local function load_known(ids, old)
  if not windows then return end
  local absent, names, holders, of = {}, {}, {}, {}
  for i = 1, n do
    if not old[i] and ARGV[7] ~= '1' then absent[#absent + 1] = ids[i] end
    if name_of(i) ~= '' then names[#names + 1] = name_of(i) end
  end
  load_lasting(absent)
  if #names == 0 then return end
  local got = redis.call('HMGET', KEYS[1], unpack(prefixed('u:', names)))
  for i = 1, #names do
    if got[i] then holders[#holders + 1], of[#of + 1] = got[i], names[i] end
  end
  got = load_lasting(holders)
  for i = 1, #holders do
    local live = string.match(got[i] or '', '^%d') and redis.call('HEXISTS', KEYS[2], holders[i]) == 1
    if live or lasting[holders[i]] then named[of[i]] = holders[i] end
  end
end
-- lasts(): whether a message that this call has removed is going to be remembered.
local function lasts(id)
  local span = spans[id] or windows and tonumber(string.match(redis.call('HGET', KEYS[1], 'w:' .. id) or '', '^%d+'))
  return span and span > 0
end
-- sent_before(): the id of a message that has the id, or the dedup id, of the i-th.
local function sent_before(i, id)
  if lasting[id] or state[id] == false and lasts(id) then return id end
  local holder = named[name_of(i)]
  if holder and (state[holder] ~= false or lasts(holder)) then return holder end
end
-- watch(): the i-th message is stored. keep_watch(): writes what is to be remembered.
local function watch(i, id)
  if not windowed then return end
  local span, name = ARGV[9 + 6 * n + i], name_of(i)
  if span == '0' and name == '' then return end
  spans[id] = tonumber(span)
  watched[#watched + 1], watched[#watched + 2] = 'w:' .. id, name == '' and span or span .. ' ' .. name
  if name ~= '' then
    named[name] = id
    watched[#watched + 1], watched[#watched + 2] = 'u:' .. name, id
  end
end
local function keep_watch()
  if #watched == 0 then return end
  local live = 0
  for _ in pairs(spans) do live = live + 1 end
  local before, rest = string.match(windows or '0 0 0', '^(%d+) (.*)$')
  windows = live + (tonumber(before) or 0) .. ' ' .. (rest or '0 0')
  redis.call('HSET', KEYS[1], 'windows', windows, unpack(watched))
end
