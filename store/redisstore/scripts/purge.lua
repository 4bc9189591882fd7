-- PURPOSE removes messages of one state for good
-- TRANSITION scheduled, ready, dead, done -> (gone)
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] state | text | - | scheduled, ready, dead, done
-- ARGV[2] limit | int | messages | 1 to 500, of the whole call
-- ARGV[3] caller | text | - | 1 to 64 characters
-- ARGV[4] number | decimal | - | 20 digits
-- ARGV[5] from | int | steps | how many were made before
-- ARGV[6] looked | int | ids | how many of the call's were looked at in them
-- ARGV[7] removed | int | messages | in them
-- ARGV[8...] ids | text | - | up to 500, those that have not been looked at; none: any of that state, the earliest first
-- RETURNS {steps, "looked removed more"}: steps -1 when there is no such partition, -2 when the call is older than the caller's last; more is 1 when there may be more to remove
-- CODES -
-- COST O(n log N), N the messages of the partition, n <= 500; 10 redis.calls and one for each 128 messages, for dead and done ones up to 4 more. Reads the records of messages that are neither, 1.25 MiB at most, or 1 MiB and one larger record, and stops there
-- RETRY safe: the caller's last number is kept with its answer, and a repetition returns that
-- EMITS -
-- USES partition code clock calls record fields fetch counter remembered remove index leased ranks answer steps
if not partition_layout then return {-1, ''} end
clock_read()
local repeated = steps_repeated()
if repeated then return repeated end
local state, limit, ids = ARGV[1], ARGV[2] - ARGV[7], {unpack(ARGV, 8)}
local over = state == 'dead' or state == 'done'
local low, high = ranks_bounds(state)
local want, index, seen = {}, {}, {}
if #ids == 0 and high > low then
  local found = ranks_range(state, low, math.min(low + limit, high) - 1)
  for i = 1, #found, 2 do want[#want + 1], index[#index + 1] = found[i], (i + 1) / 2 end
elseif #ids > 0 then
  local at = {}
  if state == 'dead' then
    at = redis.call('ZMSCORE', KEYS[5], unpack(ids))
  elseif state == 'done' then
    at = redis.call('ZMSCORE', KEYS[7], unpack(ids))
  else
    at = redis.call('ZMSCORE', KEYS[4], unpack(ids))
  end
  for i = 1, #ids do
    local right = at[i] and (over or (tonumber(at[i]) <= clock_now) == (state == 'ready'))
    if right and not seen[ids[i]] and #want < limit then
      seen[ids[i]] = true
      want[#want + 1], index[#index + 1] = ids[i], i
    end
  end
end
-- The keys of the dead are in side, those of the done in past: their records need not be read.
local recs, n = {}, #want
if not over then recs, n = fetch_records(want) end
local removed, keys = {}, {}
for j = 1, n do
  local _, _, key = record_parse(recs[j])
  removed[j] = want[j]
  if key and key ~= '' then keys[#keys + 1] = 'k:' .. key end
end
if n > 0 then
  redis.call('ZREM', KEYS[3], '-')
  if state == 'done' then
    redis.call('ZREM', KEYS[7], unpack(removed))
    index_remove(KEYS[8], removed)
    redis.call('HDEL', KEYS[8], unpack(removed))
  elseif state == 'dead' then
    redis.call('ZREM', KEYS[5], unpack(removed))
    index_remove(KEYS[1], removed)
  else
    redis.call('ZREM', KEYS[4], unpack(removed))
  end
  if state ~= 'done' then -- which has been counted
    remove_messages(removed, keys)
    counter_add('purged', n)
  end
end
local looked, more = 0, n < high - low
if #ids > 0 then
  looked = n < #want and index[n + 1] - 1 or #ids
  more = looked < #ids
end
return steps_finish(1, ARGV[6] + looked .. ' ' .. ARGV[7] + n .. ' ' .. (more and 1 or 0))
