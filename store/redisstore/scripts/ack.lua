-- PURPOSE acks deliveries: their messages are done
-- TRANSITION leased -> (gone); done where the queue keeps done messages
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] kind | text | - | ids: all receipts are ids; keyed: one or more have a key; plain: neither
-- ARGV[2...] receipts | text | - | 1 to 500
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index code -" of each that is not OK
-- CODES ok gone lease_lost
-- COST O(n log N), N the leases of the partition, n <= 500; 4 redis.calls; with keys 5 and one for each 128; with a history 7 more and one for each 128, 6 more when others are pushed out, with keys 8 more, of 250 messages at most, also where a message has failed before; without, when one is not leased, up to 8 more for each. Reads the records of messages with keys, 1.25 MiB at most, or 1 MiB and one larger record, and stops there; half of that with a history
-- RETRY safe: a master issues no receipt twice, and one whose message is gone is answered so
-- EMITS -
-- USES partition code clock record fields fetch receipt history counter remembered remove answer index donelimits done
if not partition_layout then return {-1, ''} end
if partition_windows or partition_keeps_done then clock_read() end -- or nothing needs the time
local kind, n = ARGV[1], #ARGV - 1
local ids = {unpack(ARGV, 2)}
if kind ~= 'ids' then
  for i = 1, n do ids[i] = string.sub(ids[i], 1, 26) end
end
if kind == 'keyed' then
-- USES held lost
  local to = 1 + (partition_keeps_done and math.min(n, 250) or n)
  local at, mine, recs, late, last = held_receipts(2, to, partition_keeps_done and 'all' or 'keyed')
  local histories = partition_keeps_done and history_read(mine) or {}
  local receipts, keys, acked = {}, {}, {}
  for j = 1, #at do
    receipts[j], acked[mine[j]] = ARGV[at[j]], at[j]
    local _, _, key = record_parse(recs[mine[j]])
    if key and key ~= '' then keys[#keys + 1] = 'k:' .. key end
    if partition_keeps_done then done_add(mine[j], recs[mine[j]], histories[j], 'a', receipt_attempt(receipts[j])) end
  end
  for _, i in ipairs(late) do
    local done = acked[ids[i - 1]]
    answer_add(i - 1, done and done < i and CODE_GONE or lost_code(ARGV[i], 'a'))
  end
  if #at > 0 then
    if partition_keeps_done then done_write() end
    redis.call('ZREM', KEYS[3], unpack(receipts))
    remove_messages(mine, keys)
    counter_add('acked', #at)
  end
  return {last - 1, answer_text()}
end
-- Without keys nothing need be read, if it turns out that all of them were leased, but for
-- the history.
local recs
if partition_keeps_done then
  recs, n = fetch_records(partition_tried > 0 and {unpack(ids, 1, 250)} or ids) -- for failure texts are copied, too
  ids = {unpack(ids, 1, n)}
end
local removed, mine, at = redis.call('ZREM', KEYS[3], unpack(ARGV, 2, 1 + n)), ids, {}
if removed < n then
-- USES state
  mine = {}
  local acked = {}
  for i = 1, n do
    local id, attempt = ids[i], receipt_attempt(ARGV[1 + i])
    if acked[id] or redis.call('HEXISTS', KEYS[2], id) == 0 then
      answer_add(i, CODE_GONE)
    elseif state_of(id) or
      attempt ~= history_parse(partition_tried > 0 and redis.call('HGET', KEYS[1], 'h:' .. id)) + 1 then
      answer_add(i, CODE_LEASE_LOST)
    else -- it is there, but in no state: it was leased until now
      mine[#mine + 1], at[#at + 1], acked[id] = id, i, true
    end
  end
end
if partition_keeps_done then
  local histories = history_read(mine)
  for j = 1, #mine do
    local i = at[j] or j
    done_add(mine[j], recs[i], histories[j], 'a', receipt_attempt(ARGV[1 + i]))
  end
  done_write()
end
remove_messages(mine, {})
counter_add('acked', removed)
return {n, answer_text()}
