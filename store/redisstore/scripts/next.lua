-- PURPOSE ends deliveries, done, and stores the messages that follow them
-- TRANSITION leased -> (gone), or done where the queue keeps done messages, and (none) -> scheduled, ready; nothing for a delivery one of whose messages is refused
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] wake | text | - | "wake p"
-- ARGV[3] items | int | receipts | 1 to 500
-- ARGV[4] from | int | - | the place in ARGV of the first receipt
-- ARGV[5] farthest | int | ms | the longest time ahead that a message may be due
-- ARGV[6] n | int | messages | 1 to 500
-- ARGV[7] new | 0 | - | as of push
-- ARGV[8] largest | int | bytes | the longest of the records
-- ARGV[9] counts | text | messages | of each receipt, behind blanks
-- ARGV[10...] the messages as for push, with all that they can have; the receipts | text, bytes; text; text, int, int; int, text; text | ms | a span is 0 to farthest
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index:code" for all but OK
-- CODES ok duplicate full too_far expires gone lease_lost
-- COST O(n log N), N the messages of the partition, n <= 500; 17 redis.calls for receipts and messages without keys, and one for each receipt that is not of a lease; with keys and the rest those of push and of ack. Reads the records of messages with keys, as ack does, and those that have the id of a message, as push does
-- RETRY safe: a master issues no receipt twice; one whose message is gone is answered so if all that follows is there, or remembered
-- EMITS wake, when the first due time becomes earlier
-- USES open codes time record receipt fetch history count retire forget place leases wake answer batch grow
if not s[1] then return {-1, ''} end
local lay, shelve, shed
if keeps then
-- USES lists unshelve shed done
end
local before, from, most, live = first(), tonumber(ARGV[4]), tonumber(s[5]) or math.huge, 0
if s[5] then live = redis.call('HLEN', KEYS[2]) - redis.call('ZCARD', KEYS[5]) end
local to = from - 1 + (keeps and math.min(ARGV[3], 250) or ARGV[3])
local held, parents, recs, _, reached = leases(from, to, keeps and 'all' or 'keyed')
local past_of = keeps and history(parents) or {}
-- A write that changes nothing: at maxmemory it is refused, and then so are new messages.
local probe = #held > 0 and redis.pcall('HSET', KEYS[2], '', '1')
local crowded = type(probe) == 'table'
if crowded and not string.find(probe.err, 'OOM', 1, true) then return probe end
-- USES schedule existing expiring seize declare known stow
look_up()
-- USES trial follow
-- Receipts are answered in their order: what becomes of one can be what the next one asks for.
local receipts, mine, keys, leased, settled = {}, {}, {}, {}, {}
for j, at in ipairs(held) do leased[ARGV[at]] = j end
-- settle(): the code of the receipt at a place in ARGV, which is that of the j-th lease. Its
-- message is gone before those that follow are looked at.
local function settle(at, j)
  local id = parents[j]
  local record = state[id] or recs[id] -- a delivery before it may have declared it anew
  local _, _, key = parse(record)
  begin()
  state[id], live = false, live - 1
  if key and key ~= '' then owner[key] = false end
  local code = follow(at - from + 1)
  if code ~= OK then
    undo()
    return code
  end
  keep()
  receipts[#receipts + 1], mine[#mine + 1], settled[j] = ARGV[at], id, true
  if key and key ~= '' then keys[#keys + 1] = 'k:' .. key end
  if keeps then lay(id, record, past_of[j], 'a', attempt_of(ARGV[at])) end
  return OK
end
-- lost(): the code of a receipt that is not, or no longer, that of a lease.
local function lost(at)
  local id = string.sub(ARGV[at], 1, 26)
  local there = state[id]
  if there == nil then there = redis.call('HEXISTS', KEYS[2], id) == 1 end
  return not there and followed(at - from + 1) and GONE or LEASE_LOST
end
for at = from, reached do
  local j = leased[ARGV[at]]
  say(at - from + 1, j and not settled[j] and settle(at, j) or lost(at))
end
over()
if #receipts > 0 then
  if keeps then shelve() end
  redis.call('ZREM', KEYS[3], unpack(receipts))
  forget(mine, keys)
  count('acked', #receipts)
  stow()
  count('sent', sent)
  count('deduplicated', deduplicated)
  wake(before, earliest)
end
return {reached - from + 1, table.concat(odd, ' ')}
