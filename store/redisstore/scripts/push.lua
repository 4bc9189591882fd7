-- PURPOSE stores messages
-- TRANSITION (none) -> scheduled, ready; scheduled, ready -> scheduled, ready when declared with another schedule
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
-- ARGV[7] new | 1 or 0 | - | 1: nothing can have had one of the ids before
-- ARGV[8] largest | int | bytes | the longest of the records
-- ARGV[9] version | int | ms | of the settings that the caller knows
-- ARGV[10...] n times id and record, n times when (once, if it is the same for all and nothing follows): a span, or "@" and an instant; then, when one of them has more: n keys, n TTLs (0: none), n replace (1 or 0) | text, bytes; text; text, int, int | ms | a span is 0 to farthest
-- RETURNS {done, exceptions}: done is n, or -2 when the call is older than the producer's last; exceptions "index:code" or "index:code:holder" for all but OK, and for OK when another message has been declared. {-3, version} when the partition has settings of that version, or 0 when there is no such partition: nothing was done
-- CODES ok duplicate conflict full too_far expires
-- COST O(n log N), N the messages of the partition, n <= 500; 8 or 9 redis.calls when they are new and none has a key; 2 when the messages are limited, 1 when a record is longer than all before it; where records may be long and one may be there already, up to 2 for each; for each that is declared up to 5, and 2 more. Copies no more bytes than it is given
-- RETRY safe: the producer's last number is kept with its answer, and ids that are live are not stored again
-- EMITS wake, when the first due time becomes earlier
-- USES open codes time calls count wake batch grow
local answer, stale = recall('p:' .. ARGV[3], ARGV[4])
if answer then return {n, answer} end
if stale then return {-2, ''} end
if s[7] ~= ARGV[9] then return {-3, s[7] or '0'} end
local before = first()
local most, live = tonumber(s[5]) or math.huge, 0
-- The dead do not count: they must not keep others from being sent.
if s[5] then live = redis.call('HLEN', KEYS[2]) - redis.call('ZCARD', KEYS[5]) end
local function finish(sent, duplicates, answer)
  count('sent', sent)
  count('duplicates', duplicates)
  remember('p:' .. ARGV[3], ARGV[4], answer)
  wake(before, earliest)
  return {n, answer}
end
local plan = ARGV[7] == '1' and not more and live + n <= most and together()
if plan then
  grow(tonumber(ARGV[8]))
  redis.call('HSET', KEYS[2], unpack(ARGV, 10, 9 + 2 * n))
  redis.call('ZADD', KEYS[4], unpack(plan))
  return finish(n, 0, '')
end
-- USES record schedule receipt history forget place existing expiring seize declare
local odd, sent, duplicates = {}, 0, 0
local function store(i, id, record)
  if due_of(i) > farthest then return TOO_FAR end
  local key, ttl, full = '', 0, live >= most
  if more then key, ttl = ARGV[9 + 3 * n + i], tonumber(ARGV[9 + 4 * n + i]) end
  if ttl > 0 and due_of(i) >= up + ttl then return EXPIRES end
  if full and key == '' then return FULL end
  local repeats = string.byte(record, 2) >= 128 and schedule(record) or nil
  if repeats then
    local holder = declare(key, record, due_of(i), repeats)
    if holder then return OK, holder end
  end
  if key ~= '' then
    local holder, room = seize(key, ARGV[9 + 5 * n + i] == '1')
    if full and room ~= 1 then return FULL end -- in the place of another it takes none
    if holder then return DUPLICATE, holder end
    live = live - room
    take(key, id, ttl, repeats)
  end
  if ttl > 0 then record = expiring(record, up + ttl) end
  state[id], live, sent = record, live + 1, sent + 1
  return OK
end
-- singly(): decides on one after the other, and collects what is to be written.
local function singly()
  local ids, put = {}, {}
  for i = 1, n do ids[i] = ARGV[8 + 2 * i] end
  local old = existing(ids)
  if more then load_owners(10 + 3 * n, n) end
  for i = 1, n do
    local id, record, code, holder = ids[i], ARGV[9 + 2 * i], OK, nil
    local was = state[id]
    if was == nil then was = old[i] end
    if not was then
      code, holder = store(i, id, record)
      if code == OK and not holder then put[#put + 1] = i end
    elseif not same(was, record) then
      code = CONFLICT
    end
    if code ~= OK or holder then odd[#odd + 1] = i .. ':' .. code .. (holder and ':' .. holder or '') end
    if code == DUPLICATE then duplicates = duplicates + 1 end
  end
  for _, i in ipairs(put) do write(ids[i], due_of(i)) end
  for _, id in ipairs(declared) do write(id) end
end
singly()
if #records > 0 then
  grow(tonumber(ARGV[8]))
  redis.call('HSET', KEYS[2], unpack(records))
end
revise()
evict(records)
if #scores > 0 then redis.call('ZADD', KEYS[4], unpack(scores)) end
return finish(sent, duplicates, table.concat(odd, ' '))
