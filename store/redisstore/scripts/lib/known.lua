-- For push and next: what is remembered, and what is to be. gone: ids of messages that are gone and
-- remembered; dedup: the id of the message with a dedup id; spans: how long those of this
-- call are to be remembered, by id.
local known_lengths, known_names = batch_dues + 4 * batch_size, batch_dues + 5 * batch_size -- where they are in ARGV
local known_gone, known_dedup, known_spans, known_fields = {}, {}, {}, {}
local function known_name(i) return batch_remembered and ARGV[known_names + i] or '' end
local function known_load_gone(ids)
  if #ids == 0 then return end
  local got = redis.call('HMGET', KEYS[1], unpack(fields_of('w:', ids)))
  for i = 1, #ids do
    local ends = tonumber(string.match(got[i] or '', '^@(%d+)'))
    known_gone[ids[i]] = ends and ends > clock_now
  end
  return got
end
-- known_load(): old: the records of those ids that are live.
local function known_load(ids, old)
  if not partition_windows then return end
  local absent, names, holders, of = {}, {}, {}, {}
  for i = 1, batch_size do
    if not old[i] and ARGV[5] ~= '1' then absent[#absent + 1] = ids[i] end
    if known_name(i) ~= '' then names[#names + 1] = known_name(i) end
  end
  known_load_gone(absent)
  if #names == 0 then return end
  local got = redis.call('HMGET', KEYS[1], unpack(fields_of('u:', names)))
  for i = 1, #names do
    if got[i] then holders[#holders + 1], of[#of + 1] = got[i], names[i] end
  end
  got = known_load_gone(holders)
  for i = 1, #holders do
    local live = string.match(got[i] or '', '^%d') and redis.call('HEXISTS', KEYS[2], holders[i]) == 1
    if live or known_gone[holders[i]] then known_dedup[of[i]] = holders[i] end
  end
end
-- known_lasts(): whether a message that this call has removed is going to be remembered.
local function known_lasts(id)
  local span = known_spans[id]
    or partition_windows and tonumber(string.match(redis.call('HGET', KEYS[1], 'w:' .. id) or '', '^%d+'))
  return span and span > 0
end
-- known_before(): the id of a message that has the id, or the dedup id, of the i-th.
local function known_before(i, id)
  if known_gone[id] or staged_records[id] == false and known_lasts(id) then return id end
  local holder = known_dedup[known_name(i)]
  if holder and (staged_records[holder] ~= false or known_lasts(holder)) then return holder end
end
-- known_add(): the i-th message is stored. known_write(): writes what is to be remembered.
local function known_add(i, id)
  if not batch_remembered then return end
  local span, name = ARGV[known_lengths + i], known_name(i)
  if span == '0' and name == '' then return end
  known_spans[id] = tonumber(span)
  known_fields[#known_fields + 1] = 'w:' .. id
  known_fields[#known_fields + 1] = name == '' and span or span .. ' ' .. name
  if name ~= '' then
    known_dedup[name] = id
    known_fields[#known_fields + 1], known_fields[#known_fields + 2] = 'u:' .. name, id
  end
end
local function known_write()
  if #known_fields == 0 then return end
  local live = 0
  for _ in pairs(known_spans) do live = live + 1 end
  local before, rest = string.match(partition_windows or '0 0 0', '^(%d+) (.*)$')
  partition_windows = live + (tonumber(before) or 0) .. ' ' .. (rest or '0 0')
  redis.call('HSET', KEYS[1], 'windows', partition_windows, unpack(known_fields))
end
