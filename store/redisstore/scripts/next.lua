-- PURPOSE acks deliveries and stores the messages that follow them
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
-- ARGV[3] farthest | int | ms | the longest time ahead that a message may be due
-- ARGV[4] n | int | messages | 1 to 500
-- ARGV[5] new | 0 | - | an earlier run of the handler may have sent them
-- ARGV[6] largest | int | bytes | the longest of the records
-- ARGV[7] columns | int | - | 6, as for push
-- ARGV[8] items | int | receipts | 1 to 500
-- ARGV[9] counts | text | messages | of each receipt, behind blanks
-- ARGV[10] from | int | - | the index in ARGV of the first receipt
-- ARGV[11...] the messages as for push; the receipts; of: the number of partitions by which messages with keys or dedup ids were routed, 0: there are none | text, bytes; text; text, int, int; int, text; text; int | ms | a span is 0 to farthest
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index code -" of each that is not OK
-- CODES ok duplicate full too_far expires gone lease_lost moved
-- COST O(n log N), N the messages of the partition, n <= 500; 17 redis.calls for receipts and messages without keys, and one for each receipt that is not of a lease; with keys and the rest those of push and of ack, and one more. Reads the records of messages with keys, as ack does, and those that have the id of a message, as push does
-- RETRY safe: a master issues no receipt twice; one whose message is gone is answered so if all that follows is there, or remembered
-- EMITS wake, when the first due time becomes earlier
-- USES partition code clock instant record receipt fields fetch history counter remembered remove state held wake answer largest index donelimits done livelimit
if not partition_layout then return {-1, ''} end
clock_read()
local before, from = wake_first(), tonumber(ARGV[10])
local to = from - 1 + (partition_keeps_done and math.min(ARGV[8], 250) or ARGV[8])
local held, parents, recs, _, reached = held_receipts(from, to, partition_keeps_done and 'all' or 'keyed')
local histories = partition_keeps_done and history_read(parents) or {}
-- A write that changes nothing: at maxmemory it is refused, and then so are new messages.
local probe = #held > 0 and redis.pcall('HSET', KEYS[2], '', '1')
if type(probe) == 'table' then
  if not string.find(probe.err, 'OOM', 1, true) then return probe end
  livelimit_memory = false
end
-- USES batch schedule existing expiry staged keys declare known accept
accept_load()
-- USES trial follow
-- Receipts are answered in their order: what becomes of one can be what the next one asks for.
local receipts, mine, keys, leased, settled = {}, {}, {}, {}, {}
for j, at in ipairs(held) do leased[ARGV[at]] = j end
-- moved: messages with keys or dedup ids may belong to another partition, because the queue has grown.
local of = ARGV[from + ARGV[8]]
local moved = of ~= '0' and redis.call('HGET', KEYS[1], 'partitions') ~= of
-- settle(): the code of the receipt ARGV[at], which is that of the j-th lease. Its
-- message is gone before those that follow are looked at.
local function settle(at, j)
  if moved then return CODE_MOVED end
  local id = parents[j]
  local record = staged_records[id] or recs[id] -- a delivery before it may have declared it anew
  local _, _, key = record_parse(record)
  trial_begin()
  staged_records[id], livelimit_live = false, livelimit_live - 1
  if key and key ~= '' then keys_holders[key] = false end
  local code = follow_accept(at - from + 1)
  if code ~= CODE_OK then
    trial_undo()
    return code
  end
  trial_keep()
  receipts[#receipts + 1], mine[#mine + 1], settled[j] = ARGV[at], id, true
  if key and key ~= '' then keys[#keys + 1] = 'k:' .. key end
  if partition_keeps_done then done_add(id, record, histories[j], 'a', receipt_attempt(ARGV[at])) end
  return CODE_OK
end
-- lost(): the code of a receipt that is not, or no longer, that of a lease.
local function lost(at)
  local id = string.sub(ARGV[at], 1, 26)
  local there = staged_records[id]
  if there == nil then there = redis.call('HEXISTS', KEYS[2], id) == 1 end
  return not there and follow_known(at - from + 1) and CODE_GONE or CODE_LEASE_LOST
end
for at = from, reached do
  local j = leased[ARGV[at]]
  answer_add(at - from + 1, j and not settled[j] and settle(at, j) or lost(at))
end
trial_end()
if #receipts > 0 then
  if partition_keeps_done then done_write() end
  redis.call('ZREM', KEYS[3], unpack(receipts))
  remove_messages(mine, keys)
  counter_add('acked', #receipts)
  accept_write()
  counter_add('sent', accept_sent)
  counter_add('deduplicated', accept_deduplicated)
  wake_consumers(before, batch_earliest, ARGV[1], ARGV[2])
end
return {reached - from + 1, answer_text()}
