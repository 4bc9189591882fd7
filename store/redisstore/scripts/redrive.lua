-- PURPOSE makes dead messages due now or after a delay, with their failures and TTLs forgotten
-- TRANSITION dead -> scheduled, ready
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] wake | text | - | "wake p"
-- ARGV[3] caller | text | - | 1 to 64 characters
-- ARGV[4] number | decimal | - | 20 digits
-- ARGV[5] from | int | items | how many of the call's were done in steps before
-- ARGV[6] n | int | items | 1 to 500
-- ARGV[7] of | int | - | the number of partitions by which those with keys belong here; 0: that is not known
-- ARGV[8...] n ids, n delays | text, int | ms | delays from 0
-- RETURNS {done, exceptions}: done how many of the call's items are done, -1 when there is no such partition, -2 when the call is older than the caller's last; exceptions "index code holder" of each that is not OK, "-" where there is no holder, the index counted in the whole call
-- CODES ok not_found duplicate moved
-- COST O(n log N), N the messages of the partition, n <= 500; 13 redis.calls, with keys 5 more, one for each 128 messages, and at most 5 for each key. Reads the records of dead messages, 1.25 MiB at most, or 1 MiB and one larger record, and stops there
-- RETRY safe: the caller's last number is kept with its answer, and a repetition returns that
-- EMITS wake, when the first due time becomes earlier
-- USES partition code clock instant calls record schedule fields fetch receipt history counter wake state index answer steps
if not partition_layout then return {-1, ''} end
clock_read()
local repeated = steps_repeated()
if repeated then return repeated end
local n = tonumber(ARGV[6])
local ids, was, earliest = {unpack(ARGV, 8, 7 + n)}, wake_first(), math.huge
local held, want, index, seen = redis.call('ZMSCORE', KEYS[5], unpack(ids)), {}, {}, {}
for i = 1, n do
  if held[i] and not seen[ids[i]] then
    seen[ids[i]] = true
    want[#want + 1], index[i] = ids[i], #want + 1
  end
end
local recs, got = fetch_records(want)
local histories, owner = history_read(want), {}
local due, notes, moved, kept, keyed, fresh, done = {}, {}, {}, {}, {}, 0, 0
-- holder(): who has the key, unless that has no record, or is dead.
local function holder(key)
  local id = owner[key] or redis.call('HGET', KEYS[1], 'k:' .. key)
  if not id then return nil end
  id = string.sub(id, 1, 26)
  local where = owner[key] and 'due' or state_of(id)
  if where == 'due' or where == 'leased' then return id end
end
-- moves(): whether messages with keys may belong to another partition, because the queue grows.
local moving = nil
local function moves()
  if moving == nil then
    local now = redis.call('HMGET', KEYS[1], 'from', 'partitions')
    moving = now[1] and now[2] ~= ARGV[7]
  end
  return moving
end
local function redrive(i, j)
  local id, _, expiry, key, _, repeats, name = want[j], record_parse(recs[j])
  if key and key ~= '' and moves() then return CODE_MOVED end
  local other = key and key ~= '' and holder(key)
  if other then return CODE_DUPLICATE, other end
  local deliveries, _, how, doubt, _, _, earlier = history_parse(histories[j])
  if not histories[j] then fresh, how = fresh + 1, '-' end
  local at = instant_after(ARGV[7 + n + i])
  earliest = math.min(earliest, at)
  moved[#moved + 1] = id
  due[#due + 1], due[#due + 2] = instant_text(at), id
  notes[#notes + 1], notes[#notes + 2] = 'h:' .. id, history_counts(deliveries, earlier) .. ' 0 ' .. how .. doubt
  if expiry and expiry > 0 then
    kept[#kept + 1], kept[#kept + 2] = id, string.sub(recs[j], 1, 3) .. string.rep('\0', 6) .. string.sub(recs[j], 10)
  end
  if key and key ~= '' then
    owner[key], keyed[#keyed + 1] = id, id
    notes[#notes + 1], notes[#notes + 2] = 'k:' .. key, repeats and id .. ' ' .. schedule_of(recs[j]) or id
  elseif name then
    keyed[#keyed + 1] = id
  end
  return CODE_OK
end
for i = 1, n do
  local j = index[i]
  if j and j > got then break end
  done = i
  if j then answer_add(steps_from + i, redrive(i, j)) else answer_add(steps_from + i, CODE_NOT_FOUND) end
end
if #moved > 0 then
  redis.call('ZREM', KEYS[3], '-')
  if #kept > 0 then redis.call('HSET', KEYS[2], unpack(kept)) end
  redis.call('ZADD', KEYS[4], unpack(due))
  redis.call('HSET', KEYS[1], unpack(notes))
  if fresh > 0 then redis.call('HINCRBY', KEYS[1], 'tried', fresh) end
  redis.call('ZREM', KEYS[5], unpack(moved))
  index_remove(KEYS[1], keyed)
  counter_add('redriven', #moved)
  wake_consumers(was, earliest, ARGV[1], ARGV[2])
end
return steps_finish(done, answer_text())
