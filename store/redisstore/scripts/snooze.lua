-- PURPOSE snoozes deliveries: their messages are due later; snoozes are counted, failures are not
-- TRANSITION leased -> scheduled, ready; (gone), or done, when a cancel was asked for
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] n | int | receipts | 1 to 500
-- ARGV[2] channel | text | - | PFX:{q}:events
-- ARGV[3] wake | text | - | "wake p"
-- ARGV[4...] n receipts, n delays, n reasons | text, int, text | ms | delays from 0, reasons up to 1024 bytes, empty: none
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index code -" of each that is not OK
-- CODES ok gone lease_lost cancelled
-- COST O(n log N), N the messages of the partition, n <= 500; 8 redis.calls, and one where a message has failed or was snoozed before. While cancels are under way it reads the records of messages with keys, 1.25 MiB at most, or 1 MiB and one larger record, and stops there, also when 448 KiB of failure texts may have been copied. With a history, half of that, and up to 20 redis.calls more while cancels are under way
-- RETRY safe: the history records which delivery ended last and how, so a repetition gets the same code
-- EMITS wake, when the first due time becomes earlier
-- USES partition code clock instant record fields fetch receipt history counter remembered remove index donelimits done texts textslimit plan held lost wake answer
if not partition_layout then return {-1, ''} end
clock_read()
local n, cancelled, before = tonumber(ARGV[1]), 0, wake_first()
local need = partition_stops == 0 and 'none' or partition_keeps_done and 'all' or 'keyed'
local at, ids, recs, late, last = held_receipts(4, textslimit_last(4, 3 + n, 2 * n), need)
local histories, stop = history_read(ids), history_cancels(ids)
for j = 1, #at do
  local i, id = at[j], ids[j]
  plan_ended[j] = ARGV[i]
  if stop[j] then
    local _, _, key = record_parse(recs[id])
    plan_end(id, recs[id], key, histories[j], 'c', receipt_attempt(ARGV[i]))
    cancelled = cancelled + 1
    answer_add(i - 3, CODE_CANCELLED)
  else
    local _, failures = history_parse(histories[j])
    plan_history(id, histories[j], receipt_attempt(ARGV[i]), failures, 'z', ARGV[i + 2 * n], 1)
    plan_again(id, instant_after(ARGV[i + n]))
  end
end
if #at > 0 then
  plan_write()
  counter_add('snoozed', #at - cancelled)
  counter_add('cancelled', cancelled)
  wake_consumers(before, plan_earliest, ARGV[2], ARGV[3])
end
for _, i in ipairs(late) do answer_add(i - 3, lost_code(ARGV[i], 'z')) end
return {last - 3, answer_text()}
