-- PURPOSE nacks deliveries: a failure is counted, and the message is due again or dead
-- TRANSITION leased -> scheduled, ready; dead when out of attempts; (gone), or done, when a cancel was asked for
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
-- ARGV[4...] n receipts, n delays, n failures | text, int, text | ms | delays from 0, failures up to 1024 bytes, empty: none
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index code -" of each that is not OK
-- CODES ok dead gone lease_lost cancelled
-- COST O(n log N), N the messages of the partition, n <= 500; 9 redis.calls, one for each 128 messages, and one where a message has failed before; where messages with keys die, one more, and one for each key that a dead message has already. Reads records, 1.25 MiB at most, or 1 MiB and one larger record, and stops there, also when 448 KiB of failure texts may have been copied. With a history, half of that, and up to 20 redis.calls more while cancels are under way
-- RETRY safe: the history records which delivery ended last and how, so a repetition gets the same code
-- EMITS wake, when the first due time becomes earlier
-- USES partition code clock instant record fields fetch receipt history counter remembered remove index donelimits done texts textslimit plan dead held lost failed wake answer
if not partition_layout then return {-1, ''} end
clock_read()
local n, cancelled, before = tonumber(ARGV[1]), 0, wake_first()
local at, ids, recs, late, last = held_receipts(4, textslimit_last(4, 3 + n, 2 * n), 'all')
local histories, stop = history_read(ids), history_cancels(ids)
for j = 1, #at do
  local i, id = at[j], ids[j]
  local most, _, key, _, _, name = record_parse(recs[id])
  plan_ended[j] = ARGV[i]
  if stop[j] then
    plan_end(id, recs[id], key, histories[j], 'c', receipt_attempt(ARGV[i]))
    cancelled = cancelled + 1
    answer_add(i - 3, CODE_CANCELLED)
  else
    local _, failures = history_parse(histories[j])
    plan_history(id, histories[j], receipt_attempt(ARGV[i]), failures + 1, 'n', ARGV[i + 2 * n])
    if failures + 1 >= (most or 0) then
      dead_add(id, key, most, name)
      answer_add(i - 3, CODE_DEAD)
    else
      plan_again(id, instant_after(ARGV[i + n]))
    end
  end
end
if #at > 0 then
  dead_write()
  plan_write()
  counter_add('nacked', #at - cancelled)
  counter_add('cancelled', cancelled)
  wake_consumers(before, plan_earliest, ARGV[2], ARGV[3])
end
for _, i in ipairs(late) do answer_add(i - 3, failed_code(ARGV[i])) end
return {last - 3, answer_text()}
