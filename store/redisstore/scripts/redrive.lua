-- PURPOSE makes dead messages due now, with their failures forgotten
-- TRANSITION dead -> ready
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] wake | text | - | "wake p"
-- ARGV[3...] ids | text | - | 1 to 500
-- RETURNS {done, exceptions}: done how many ids were looked at, -1 when there is no such partition; exceptions "index:code" or "index:code:holder" for all but OK
-- CODES ok not_found duplicate
-- COST O(n log N), N the messages of the partition, n <= 500; 9 redis.calls, one more for each 128 messages, and at most 5 for each key. Reads records, 1.25 MiB at most, or 1 MiB and one larger record, and stops there
-- RETRY safe: what was redriven is not dead, so a repetition does not find it
-- EMITS wake, when the first due time becomes earlier
-- USES open codes time record fetch receipt history count wake place
if not s[1] then return {-1, ''} end
local ids, before = {unpack(ARGV, 3)}, first()
local held = redis.call('ZMSCORE', KEYS[5], unpack(ids))
local recs, n = fetch(ids)
local past_of, owner, odd, seen = history(ids), {}, {}, {}
local due, notes, moved, fresh = {}, {}, {}, 0
-- holder(): who has the key, unless it is nowhere, or dead.
local function holder(key)
  local id = owner[key] or redis.call('HGET', KEYS[1], 'k:' .. key)
  if not id then return nil end
  id = string.sub(id, 1, 26)
  local where = owner[key] and 'due' or place(id)
  if where == 'due' or where == 'leased' then return id end
end
for i = 1, n do
  local id, _, expiry, key = ids[i], parse(recs[i])
  local there = held[i] and not seen[id]
  local other = there and key and key ~= '' and holder(key)
  if not there then
    odd[#odd + 1] = i .. ':' .. NOT_FOUND
  elseif other then
    odd[#odd + 1] = i .. ':' .. DUPLICATE .. ':' .. other
  else
    local deliveries, _, how, doubt = past(past_of[i])
    if not past_of[i] then fresh, how = fresh + 1, '-' end
    seen[id], moved[#moved + 1] = true, id
    due[#due + 1], due[#due + 2] = digits(now), id
    notes[#notes + 1], notes[#notes + 2] = 'h:' .. id, deliveries .. ' 0 ' .. how .. doubt
    if key and key ~= '' then
      owner[key] = expiry > 0 and id .. ' ' .. expiry or id
      notes[#notes + 1], notes[#notes + 2] = 'k:' .. key, owner[key]
    end
  end
end
if #moved > 0 then
  redis.call('ZREM', KEYS[3], '-')
  redis.call('ZADD', KEYS[4], unpack(due))
  redis.call('HSET', KEYS[1], unpack(notes))
  if fresh > 0 then redis.call('HINCRBY', KEYS[1], 'tried', fresh) end
  redis.call('ZREM', KEYS[5], unpack(moved))
  count('redriven', #moved)
  wake(before, now)
end
return {n, table.concat(odd, ' ')}
