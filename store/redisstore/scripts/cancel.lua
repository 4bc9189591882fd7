-- PURPOSE removes messages, or asks the holder of a leased one to stop
-- TRANSITION scheduled, ready, when asked to also dead -> (gone), those that are not dead to done where the queue keeps done messages; leased -> leased, to be removed when it is settled or its lease runs out
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] partition | int | - | 0 to 1023
-- ARGV[3] caller | text | - | 1 to 64 characters
-- ARGV[4] number | decimal | - | 20 digits
-- ARGV[5] from | int | items | how many of the call's were done in steps before
-- ARGV[6] dead | 1 or 0 | - | 1: remove dead messages, too
-- ARGV[7...] references | text | - | 1 to 500, an id, or "k:" and a key
-- RETURNS {done, exceptions}: done how many of the call's items are done, -1 when there is no such partition, -2 when the call is older than the caller's last; exceptions "index code -" of each that is not OK, the index counted in the whole call
-- CODES ok not_found running dead
-- COST O(n log N), N the messages of the partition, n <= 500; at most 16 redis.calls, 20 more with a history, of 250 waiting messages at most, one more for each 128 messages, two for each key, and at most 6 for each that is not waiting. Reads records, 1.25 MiB at most, or 1 MiB and one larger record, and stops there; half of that with a history
-- RETRY safe: the caller's last number is kept with its answer, and a repetition returns that
-- EMITS stop, for each leased message
-- USES partition code clock calls record fields fetch receipt history counter remembered remove state refs answer steps index donelimits done
if not partition_layout then return {-1, ''} end
clock_read()
local repeated = steps_repeated()
if repeated then return repeated end
local ids = {unpack(ARGV, 7)}
for i = 1, #ids do ids[i] = refs_id(ids[i]) or '-' end
local held, want, index, seen = redis.call('ZMSCORE', KEYS[4], unpack(ids)), {}, {}, {}
for i = 1, #ids do
  if held[i] and not seen[ids[i]] then
    seen[ids[i]] = true
    want[#want + 1], index[#index + 1] = ids[i], i
  end
end
local recs, n = fetch_records(partition_keeps_done and {unpack(want, 1, 250)} or want)
local done = n < #want and index[n + 1] - 1 or #ids
local cancelled, removed, buried, keys = {}, {}, {}, {}
local histories = partition_keeps_done and history_read(want) or {}
for j = 1, n do
  local _, _, key = record_parse(recs[j])
  cancelled[index[j]], removed[j] = true, want[j]
  if key and key ~= '' then keys[#keys + 1] = 'k:' .. key end
  if partition_keeps_done then done_add(want[j], recs[j], histories[j], 'c', (history_parse(histories[j]))) end
end
if #removed > 0 then
  if partition_keeps_done then done_write() end
  redis.call('ZREM', KEYS[4], unpack(removed))
  remove_messages(removed, keys)
  counter_add('cancelled', #removed)
end
if ARGV[6] == '1' then
  local dead = redis.call('ZMSCORE', KEYS[5], unpack(ids))
  for i = 1, done do
    if dead[i] and not seen[ids[i]] then
      cancelled[i], seen[ids[i]], buried[#buried + 1] = true, true, ids[i]
    end
  end
end
if #buried > 0 then
  redis.call('ZREM', KEYS[5], unpack(buried))
  index_remove(KEYS[1], buried)
  remove_messages(buried, {})
  counter_add('purged', #buried)
end
for i = 1, done do
  local where = not cancelled[i] and state_of(ids[i])
  if where == 'leased' then
    redis.call('ZREM', KEYS[3], '-')
    local fresh = redis.call('HSET', KEYS[1], 'x:' .. ids[i], '1')
    if fresh > 0 then redis.call('HINCRBY', KEYS[1], 'stops', fresh) end
    redis.pcall('PUBLISH', ARGV[1], 'stop ' .. ARGV[2] .. ' ' .. ids[i])
    answer_add(steps_from + i, CODE_RUNNING)
  elseif where == 'dead' then
    answer_add(steps_from + i, CODE_DEAD)
  elseif not cancelled[i] then
    answer_add(steps_from + i, CODE_NOT_FOUND)
  end
end
return steps_finish(done, answer_text())
