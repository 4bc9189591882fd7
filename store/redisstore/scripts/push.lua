-- PURPOSE stores messages
-- TRANSITION (none) -> scheduled, ready
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] wake | text | - | "wake p"
-- ARGV[3] producer | text | - | 1 to 64 characters
-- ARGV[4] number | decimal | - | 20 digits
-- ARGV[5] farthest | int | ms | the longest time ahead that a message may be due
-- ARGV[6] n | int | messages | 1 to 500
-- ARGV[7...] n ids, n records, n delays (one, when it is the same for all and nothing follows) | text, bytes, int | ms | 0 to farthest; then, when one of them has more: n keys, n due times (0: after the delay), n TTLs (0: none), n replace (1 or 0) | text, int, int, int | ms | -
-- RETURNS {done, exceptions, created}: done is n, or -2 when the call is older than the producer's last; exceptions "index:code" or "index:code:holder" for all but OK; created 1 when the partition is new
-- CODES ok duplicate conflict full too_far
-- COST O(n log N), N the messages of the partition, n <= 500; 9 or 10 redis.calls when nothing has a key
-- RETRY safe: the producer's last number is kept with its answer, and ids that are live are not stored again
-- EMITS wake, when the first due time becomes earlier
-- USES open codes time history calls forget create count wake place seize
local n, before = tonumber(ARGV[6]), math.huge
local answer, stale = recall('p:' .. ARGV[3], ARGV[4])
if answer then return {n, answer, 0} end
if stale then return {-2, '', 0} end
if s[1] then before = first() end
local more, shared, farthest = #ARGV > 6 + 3 * n, #ARGV == 7 + 2 * n, up + ARGV[5]
local old = redis.call('HMGET', KEYS[2], unpack(ARGV, 7, 6 + n))
local most, live = tonumber(s[5]) or math.huge, 0
if s[5] then live = redis.call('HLEN', KEYS[2]) - 1 end
if more then load_owners(6 + 3 * n + 1, n) end
local odd, put, due, sent, duplicates = {}, {}, {}, 0, 0
local records, scores, k, earliest = {}, {}, 0, math.huge
local function write(id, at)
  records[k + 1], records[k + 2], scores[k + 1], scores[k + 2], k = id, state[id], digits(at), id, k + 2
  if at < earliest then earliest = at end
end
local delay, soon
local function plain(id, record, span)
  if span ~= delay then delay, soon = span, after(span) end
  if soon > farthest then return TOO_FAR end
  if live >= most then return FULL end
  state[id], live, sent = record, live + 1, sent + 1
  write(id, soon)
  return OK
end
local function store(i, id, record)
  local key, at = ARGV[6 + 3 * n + i], tonumber(ARGV[6 + 4 * n + i])
  local ttl, replace = tonumber(ARGV[6 + 5 * n + i]), ARGV[6 + 6 * n + i] == '1'
  at = at > 0 and math.max(at, now) or after(ARGV[6 + 2 * n + i])
  if at > farthest then return TOO_FAR end
  if live >= most then return FULL end
  if key ~= '' then
    local holder, room = seize(key, replace)
    if holder then return DUPLICATE, holder end
    live = live - room
    take(key, id, ttl)
  end
  live = live + 1
  if ttl > 0 then record = expiring(record, up + ttl) end
  state[id], due[i] = record, at
  put[#put + 1], sent = i, sent + 1
  return OK
end
for i = 1, n do
  local id, record, code, holder = ARGV[6 + i], ARGV[6 + n + i], OK, nil
  local was = state[id]
  if was == nil then was = old[i] end
  if not was and more then
    code, holder = store(i, id, record)
  elseif not was then
    code = plain(id, record, ARGV[6 + 2 * n + (shared and 1 or i)])
  elseif not same(was, record) then
    code = CONFLICT
  end
  if code ~= OK then odd[#odd + 1] = i .. ':' .. code .. (holder and ':' .. holder or '') end
  if holder then duplicates = duplicates + 1 end
end
answer = table.concat(odd, ' ')
for j = 1, #put do
  local id = ARGV[6 + put[j]]
  if state[id] then write(id, due[put[j]]) end
end
if not s[1] then create() end
if #records > 0 then redis.call('HSET', KEYS[2], unpack(records)) end
evict(records)
if #scores > 0 then redis.call('ZADD', KEYS[4], unpack(scores)) end
count('sent', sent)
count('duplicates', duplicates)
remember('p:' .. ARGV[3], ARGV[4], answer)
wake(before, earliest)
return {n, answer, s[1] and 0 or 1}
