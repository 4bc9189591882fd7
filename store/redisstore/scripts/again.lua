-- PURPOSE ends occurrences: the same message is due for the next one, with its failures, snoozes and failure text forgotten
-- TRANSITION leased -> scheduled, ready; dead when the record cannot be read; (gone), or done, when a cancel was asked for
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
-- ARGV[5...] n receipts, n times when: a span, or "@" and an instant, and behind a blank the schedule that it is of, n TTLs (0: none), n bodies, behind "=", or empty: as before | text, text, int, bytes | ms | spans from 0
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index code -" of each that is not OK
-- CODES ok dead too_far gone lease_lost cancelled expires changed
-- COST O(n log N), N the messages of the partition, n <= 500; 12 redis.calls and one for each 128 messages. Reads records, 1.25 MiB at most, or 1 MiB and one larger record, and stops there; writes those that get another body or TTL. With a history, half of that, and up to 20 redis.calls more while cancels are under way
-- RETRY safe: the history records which delivery ended last and how, so a repetition gets the same code
-- EMITS wake, when the first due time becomes earlier
-- USES partition code clock instant record schedule expiry largest fields fetch receipt history counter remembered remove index donelimits done texts plan dead held lost wake answer
if not partition_layout then return {-1, ''} end
clock_read()
local n, cancelled, repeated, longest, before = tonumber(ARGV[1]), 0, 0, 0, wake_first()
local at, ids, recs, late, last = held_receipts(5, 4 + n, 'all')
local histories, stop = history_read(ids), history_cancels(ids)
local function due_of(text)
  text = string.match(text, '^%S+')
  return string.byte(text) == 64 and math.max(clock_now, tonumber(string.sub(text, 2))) or instant_after(text)
end
local function renew(i, id, h, expiry, key, start)
  local ttl, body, record, deliveries = tonumber(ARGV[i + 2 * n]), ARGV[i + 3 * n], recs[id], receipt_attempt(ARGV[i])
  local ends = ttl > 0 and clock_up + ttl or 0
  if body ~= '' then record = string.sub(record, 1, start) .. string.sub(body, 2) end
  if body ~= '' or ends ~= expiry then
    plan_records[#plan_records + 1], plan_records[#plan_records + 2] = id, expiry_set(record, ends)
    longest = math.max(longest, #record)
  end
  if key ~= '' and ends ~= expiry then
    plan_fields[#plan_fields + 1], plan_fields[#plan_fields + 2] = 'k:' .. key, ends > 0 and id .. ' ' .. ends or id
  end
  plan_fields[#plan_fields + 1], plan_fields[#plan_fields + 2] = 'h:' .. id, deliveries .. '.' .. deliveries .. ' 0 g'
  if h then plan_free[#plan_free + 1] = 'f:' .. id else plan_fresh = plan_fresh + 1 end
  plan_again(id, due_of(ARGV[i + n]))
end
-- refused(): why the next occurrence of a message with a record cannot be as it is asked for,
-- if so.
local function refused(i, record)
  local due, ttl, repeats = due_of(ARGV[i + n]), tonumber(ARGV[i + 2 * n]), string.match(ARGV[i + n], ' (.*)')
  if due > clock_up + ARGV[4] then return CODE_TOO_FAR end
  local recurs = select(5, record_parse(record))
  if ttl > 0 and (recurs or due >= clock_up + ttl) then return CODE_EXPIRES end
  if repeats and recurs and schedule_of(record) ~= repeats then return CODE_CHANGED end
end
-- settled_by(): the item that settles the j-th of the leased receipts: of those that name it
-- the first that is not refused, or the last.
local function settled_by(j)
  local i, m, record = at[j], 1, recs[ids[j]]
  while not stop[j] and refused(i, record) and m <= #late do
    if ARGV[late[m]] == ARGV[i] then
      answer_add(i - 4, refused(i, record))
      i = table.remove(late, m)
    else
      m = m + 1
    end
  end
  return i
end
for j = 1, #at do
  local i, id, h, code = settled_by(j), ids[j], histories[j], CODE_OK
  local most, expiry, key, start = record_parse(recs[id])
  if stop[j] then
    plan_end(id, recs[id], key, h, 'c', receipt_attempt(ARGV[i]))
    cancelled, code = cancelled + 1, CODE_CANCELLED
  elseif refused(i, recs[id]) then
    code = refused(i, recs[id])
  elseif not most then
    local _, failures = history_parse(h)
    plan_history(id, h, receipt_attempt(ARGV[i]), failures, 'g', recs[id] and 'record corrupt' or 'record missing')
    dead_add(id, nil, false)
    code = CODE_DEAD
  else
    renew(i, id, h, expiry, key, start)
    repeated = repeated + 1
  end
  if code ~= CODE_TOO_FAR and code ~= CODE_EXPIRES and code ~= CODE_CHANGED then
    plan_ended[#plan_ended + 1] = ARGV[i]
  end
  answer_add(i - 4, code)
end
if #plan_ended > 0 then
  dead_write()
  if longest > 0 then redis.call('ZREM', KEYS[3], '-') end
  largest_note(longest)
  plan_write()
  counter_add('repeated', repeated)
  counter_add('cancelled', cancelled)
  wake_consumers(before, plan_earliest, ARGV[2], ARGV[3])
end
for _, i in ipairs(late) do
  local code = lost_code(ARGV[i], 'g')
  if code == CODE_OK and redis.call('ZSCORE', KEYS[5], string.sub(ARGV[i], 1, 26)) then code = CODE_DEAD end
  answer_add(i - 4, code)
end
return {last - 4, answer_text()}
