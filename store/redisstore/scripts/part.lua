-- PURPOSE ends deliveries of recurring messages: failed. One that has failed for good becomes a letter: a dead message with what its occurrence was, without the schedule; the message itself is due for its next occurrence
-- TRANSITION leased -> scheduled, ready, and for good also (none) -> dead; leased -> dead when the record cannot be read or has no schedule; (gone), or done, when a cancel was asked for
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
-- ARGV[4] farthest | int | ms | the longest time ahead that a message may be due
-- ARGV[5] how | text | - | n: for good when out of attempts; j: in any case
-- ARGV[6...] n receipts, n delays, n failures, n due times of the next occurrences, n ids of letters, n schedules that the due times are of | text, int, text, int, text, text | ms | delays from 0, failures up to 1024 bytes, empty: none
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index code -" of each that is not OK
-- CODES ok too_far dead gone lease_lost cancelled changed
-- COST O(n log N), N the messages of the partition, n <= 500; 12 redis.calls, one for each 128 messages, and for each letter up to 2. Reads records, 1.25 MiB at most, or 1 MiB and one larger record, and stops there, also when 448 KiB of failure texts may have been copied; writes those of letters. With a history, half of that, and up to 20 redis.calls more while cancels are under way
-- RETRY safe: the history records which delivery ended last and how, so a repetition gets the same code
-- EMITS wake, when the first due time becomes earlier
-- USES partition code clock instant record schedule fields fetch receipt history counter remembered remove index donelimits done texts textslimit plan dead held lost failed wake answer
if not partition_layout then return {-1, ''} end
clock_read()
local n, how, letters, cancelled, before, refused = tonumber(ARGV[1]), ARGV[5], 0, 0, wake_first(), {}
local at, ids, recs, late, last = held_receipts(6, textslimit_last(6, 5 + n, 2 * n), 'all')
local histories, stop = history_read(ids), history_cancels(ids)
-- letter(): the record of a message without its schedule, marked as a letter.
local function letter(record, key, start)
  local _, size = schedule_of(record)
  local headers = start - 12 - #key - size
  local head = string.char(1, string.byte(record, 2) - 64, string.byte(record, 3),
    0, 0, 0, 0, 0, 0, #key, math.floor(headers / 256), headers % 256)
  return head .. key .. string.sub(record, 13 + #key + size)
end
local function part(i, id, h, most, key, start)
  local copy, text, deliveries = ARGV[i + 4 * n], ARGV[i + 2 * n], receipt_attempt(ARGV[i])
  local _, failures, _, _, _, snoozes, earlier = history_parse(h)
  local before = h and redis.call('HGET', KEYS[1], 'f:' .. id) or nil
  local texts = text == '' and before or text ~= '' and texts_with(before, clock_now, deliveries, text)
  plan_records[#plan_records + 1], plan_records[#plan_records + 2] = copy, letter(recs[id], key, start)
  local counts = history_counts(math.min(failures + 1, most), snoozes)
  plan_fields[#plan_fields + 1] = 'h:' .. copy
  plan_fields[#plan_fields + 1] = history_counts(deliveries, earlier) .. ' ' .. counts .. ' ' .. how
  if texts then plan_fields[#plan_fields + 1], plan_fields[#plan_fields + 2] = 'f:' .. copy, texts end
  dead_add(copy, '', true, key)
  plan_fields[#plan_fields + 1] = 'h:' .. id
  plan_fields[#plan_fields + 1] = history_counts(deliveries, deliveries) .. ' 0 ' .. (how == 'n' and 'd' or how)
  if h then plan_free[#plan_free + 1] = 'f:' .. id end
  plan_fresh, letters = plan_fresh + (h and 1 or 2), letters + 1
  plan_again(id, math.max(clock_now, tonumber(ARGV[i + 3 * n])))
end
for j = 1, #at do
  local i, id, h = at[j], ids[j], histories[j]
  local most, _, key, start, repeats, name = record_parse(recs[id])
  local _, failures = history_parse(h)
  local last_one, code = how == 'j' or failures + 1 >= (most or 0), CODE_OK
  if stop[j] then
    plan_end(id, recs[id], key, h, 'c', receipt_attempt(ARGV[i]))
    cancelled, code = cancelled + 1, CODE_CANCELLED
  elseif last_one and repeats and tonumber(ARGV[i + 3 * n]) > clock_up + ARGV[4] then
    code = CODE_TOO_FAR
  elseif last_one and repeats and schedule_of(recs[id]) ~= ARGV[i + 5 * n] then
    code = CODE_CHANGED
  elseif last_one and repeats then
    part(i, id, h, most, key, start)
  else
    plan_history(id, h, receipt_attempt(ARGV[i]), failures + 1, how, ARGV[i + 2 * n])
    if last_one then dead_add(id, key, most, name) else plan_again(id, instant_after(ARGV[i + n])) end
  end
  if code == CODE_TOO_FAR or code == CODE_CHANGED then
    refused[ARGV[i]] = code
  else
    plan_ended[#plan_ended + 1] = ARGV[i]
  end
  if code == CODE_OK and last_one and how == 'n' then code = CODE_DEAD end
  answer_add(i - 5, code)
end
if #plan_ended > 0 then
  local failed = #plan_ended - cancelled
  dead_write()
  plan_write()
  counter_add(how == 'n' and 'nacked' or 'rejected', failed)
  counter_add('sent', letters)
  counter_add('cancelled', cancelled)
  wake_consumers(before, plan_earliest, ARGV[2], ARGV[3])
end
for _, i in ipairs(late) do
  answer_add(i - 5, refused[ARGV[i]] or how == 'n' and failed_code(ARGV[i]) or lost_code(ARGV[i], how))
end
return {last - 5, answer_text()}
