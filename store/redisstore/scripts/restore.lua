-- PURPOSE stores messages that another store has listed, while the queue is paused
-- TRANSITION (none) -> scheduled, ready, dead, done
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] n | int | messages | 1 to 500
-- ARGV[2] largest | int | bytes | the longest of the records
-- ARGV[3] version | int | ms | of the settings that the caller knows
-- ARGV[4...] n times: id; due, dead or done; its instant; record, of a done message its field of past; key that it has or, when it is dead or done, by which it is found; field of the key; history, of a done message the counter of its ending; field f:ID; field w:ID; dedup id. All but the first four can be empty | text, text, int, bytes, text, text, text, text, text, text | ms | -
-- RETURNS {n, exceptions}: exceptions "index code -" of each that is not OK. {-3, version} when the partition has settings of that version, or 0 when there is no such partition, {-4, ''} when the queue is not paused: nothing was done
-- CODES ok known duplicate gone
-- COST O(n log N), N the messages of the partition, n <= 500; up to 7 redis.calls, and up to 17 for each. Copies no more bytes than it is given
-- RETRY safe: messages that are there are not stored again, and while the queue is paused none of them leaves
-- EMITS -
-- USES partition clock
clock_read()
local n, version, live = tonumber(ARGV[1]), ARGV[3], 0
if partition_version ~= version then return {-3, partition_version or '0'} end
if not partition_paused then return {-4, ''} end
-- USES code fields counter largest index answer
local counts = {sent = 0, acked = 0, cancelled = 0, expired = 0}
-- remembered(): whether a message is remembered as gone, by its w: field.
local function remembered(field)
  local ends = tonumber(string.match(field or '', '^@(%d+)'))
  return ends and ends > clock_now
end
-- present(): whether a message is there, or is known by its id or dedup id.
local function present(id, dedup)
  if redis.call('HEXISTS', KEYS[2], id) == 1 or redis.call('ZSCORE', KEYS[7], id) then return true end
  if not partition_windows and live == 0 then return false end
  if remembered(redis.call('HGET', KEYS[1], 'w:' .. id)) then return true end
  local holder = dedup ~= '' and redis.call('HGET', KEYS[1], 'u:' .. dedup)
  if not holder then return false end
  return redis.call('HEXISTS', KEYS[2], holder) == 1 or remembered(redis.call('HGET', KEYS[1], 'w:' .. holder))
end
-- found_by(): makes a dead or done message found by its key. hash and zset are those of its state.
local function found_by(hash, zset, key, id, at)
  if key == '' then return end
  local others = index_ids(redis.call('HGET', hash, 'd:' .. key))
  local times = #others > 0 and redis.call('ZMSCORE', zset, unpack(others)) or {}
  redis.call('HSET', hash, 'd:' .. key, index_with(others, times, id, tonumber(at)), 'e:' .. id, key)
end
-- restore(): the code of the message whose arguments begin at a.
local function restore(a)
  local id, state, at, record, key = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4]
  local holder, history, texts, span, dedup = ARGV[a + 5], ARGV[a + 6], ARGV[a + 7], ARGV[a + 8], ARGV[a + 9]
  if present(id, dedup) then return CODE_KNOWN end
  if state == 'done' then
    if not partition_keeps_done then return CODE_GONE end
    redis.call('HSET', KEYS[8], id, record)
    redis.call('ZADD', KEYS[7], at, id)
    found_by(KEYS[8], KEYS[7], key, id, at)
    counts[history] = counts[history] + 1
    return CODE_OK
  end
  if state == 'due' and key ~= '' and redis.call('HEXISTS', KEYS[1], 'k:' .. key) == 1 then return CODE_DUPLICATE end
  redis.call('HSET', KEYS[2], id, record)
  local fields = {}
  local function put(name, value) fields[#fields + 1], fields[#fields + 2] = name, value end
  if history ~= '' then
    put('h:' .. id, history)
    redis.call('HINCRBY', KEYS[1], 'tried', 1)
  end
  if texts ~= '' then put('f:' .. id, texts) end
  if span ~= '' then
    live = live + 1
    put('w:' .. id, span)
  end
  if dedup ~= '' then put('u:' .. dedup, id) end
  if state == 'due' and key ~= '' then put('k:' .. key, holder) end
  if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
  if state == 'dead' then
    redis.call('ZADD', KEYS[5], at, id)
    found_by(KEYS[1], KEYS[5], key, id, at)
  else
    redis.call('ZADD', KEYS[4], at, id)
  end
  return CODE_OK
end
largest_note(tonumber(ARGV[2]))
for i = 1, n do
  local code = restore(10 * i - 6)
  if code == CODE_OK then counts.sent = counts.sent + 1 else answer_add(i, code) end
end
if live > 0 then
  local before, rest = string.match(partition_windows or '0 0 0', '^(%d+) (.*)$')
  redis.call('HSET', KEYS[1], 'windows', live + (tonumber(before) or 0) .. ' ' .. (rest or '0 0'))
end
for _, name in ipairs({'sent', 'acked', 'cancelled', 'expired'}) do counter_add(name, counts[name]) end
return {n, answer_text()}
