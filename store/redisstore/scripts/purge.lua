-- PURPOSE removes messages of one state for good
-- TRANSITION scheduled, ready, dead -> (gone)
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- ARGV[1] state | text | - | scheduled, ready, dead
-- ARGV[2] limit | int | messages | 1 to 500
-- ARGV[3...] ids | text | - | up to 500; none: any of that state, the earliest first
-- RETURNS {removed, done}: done how many of the ids were looked at, or 1 when there may be more to remove
-- CODES -
-- COST O(n log N), N the messages of the partition, n <= 500; 7 redis.calls and one for each 128 messages. Reads the records of messages that are not dead, 1.25 MiB at most, or 1 MiB and one larger record, and stops there
-- RETRY safe: ids that were removed are skipped. Without ids a repetition removes further messages of the state, up to the limit
-- EMITS -
-- USES open time record fetch history count forget zsets
if not s[1] then return {0, #ARGV - 2} end
local state, limit, ids = ARGV[1], tonumber(ARGV[2]), {unpack(ARGV, 3)}
local low, high = bounds(state)
local want, index, seen = {}, {}, {}
if #ids == 0 and high > low then
  local found = range(state, low, math.min(low + limit, high) - 1)
  for i = 1, #found, 2 do want[#want + 1], index[#index + 1] = found[i], (i + 1) / 2 end
elseif #ids > 0 then
  local at = {}
  if state == 'dead' then
    at = redis.call('ZMSCORE', KEYS[5], unpack(ids))
  else
    at = redis.call('ZMSCORE', KEYS[4], unpack(ids))
  end
  for i = 1, #ids do
    local right = at[i] and (state == 'dead' or (tonumber(at[i]) <= now) == (state == 'ready'))
    if right and not seen[ids[i]] and #want < limit then
      seen[ids[i]] = true
      want[#want + 1], index[#index + 1] = ids[i], i
    end
  end
end
-- The dead hold no keys, so their records need not be read.
local recs, n = {}, #want
if state ~= 'dead' then recs, n = fetch(want) end
local removed, keys = {}, {}
for j = 1, n do
  local _, _, key = parse(recs[j])
  removed[j] = want[j]
  if key and key ~= '' then keys[#keys + 1] = 'k:' .. key end
end
if n > 0 then
  redis.call('ZREM', KEYS[3], '-')
  if state == 'dead' then
    redis.call('ZREM', KEYS[5], unpack(removed))
  else
    redis.call('ZREM', KEYS[4], unpack(removed))
  end
  forget(removed, keys)
  count('purged', n)
end
if #ids == 0 then return {n, n < high - low and 1 or 0} end
return {n, n < #want and index[n + 1] - 1 or #ids}
