-- PURPOSE rejects deliveries: their messages become dead
-- TRANSITION leased -> dead; (gone), or done, when a cancel was asked for
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] n | int | receipts | 1 to 500
-- ARGV[2...] n receipts, n failures | text, text | - | failures up to 1024 bytes, empty: none
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index code -" of each that is not OK
-- CODES ok gone lease_lost cancelled
-- COST O(n log N), N the messages of the partition, n <= 500; 10 redis.calls, one more where a message has failed before, with keys one more, one for each 128, and one for each key that a dead message has already. Reads the records of messages with keys, 1.25 MiB at most, or 1 MiB and one larger record, and stops there, also when 448 KiB of failure texts may have been copied. With a history, half of that, and up to 20 redis.calls more while cancels are under way
-- RETRY safe: the history records which delivery ended last and how, so a repetition gets the same code
-- EMITS -
-- USES partition code clock instant record fields fetch receipt history counter remembered remove index donelimits done texts textslimit plan dead held lost answer
if not partition_layout then return {-1, ''} end
clock_read()
local n, cancelled = tonumber(ARGV[1]), 0
local need = partition_keeps_done and partition_stops > 0 and 'all' or 'keyed'
local at, ids, recs, late, last = held_receipts(2, textslimit_last(2, 1 + n, n), need)
local histories, stop = history_read(ids), history_cancels(ids)
for j = 1, #at do
  local i, id = at[j], ids[j]
  local _, _, key, _, _, name = record_parse(recs[id])
  plan_ended[j] = ARGV[i]
  if stop[j] then
    plan_end(id, recs[id], key, histories[j], 'c', receipt_attempt(ARGV[i]))
    cancelled = cancelled + 1
    answer_add(i - 1, CODE_CANCELLED)
  else
    local _, failures = history_parse(histories[j])
    plan_history(id, histories[j], receipt_attempt(ARGV[i]), failures + 1, 'j', ARGV[i + n])
    dead_add(id, key, true, name)
  end
end
if #at > 0 then
  dead_write()
  plan_write()
  counter_add('rejected', #at - cancelled)
  counter_add('cancelled', cancelled)
end
for _, i in ipairs(late) do answer_add(i - 1, lost_code(ARGV[i], 'j')) end
return {last - 1, answer_text()}
