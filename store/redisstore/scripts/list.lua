-- PURPOSE reads a page of the messages in a state, in the order of time, then id; leased ones in that of time, then holder; or the last first
-- TRANSITION none
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] state | text | - | scheduled, ready, waiting (both), leased, dead, done
-- ARGV[2] limit | int | messages | 1 to 1000
-- ARGV[3] body limit | int | bytes | of each body, from 0
-- ARGV[4] score | int | - | of the place at which the page begins; empty: at the first message, or the last
-- ARGV[5] member | text | - | of the place: the page has the elements that are not before it, descending those before it
-- ARGV[6] descending | 1 or 0 | - | 1: the last message first
-- RETURNS {more, then for each: member, score, record with its body cut, whole body's bytes, history, failure texts, cancel request, holder of a leased one, for how long it is to be remembered and its dedup id}; the score is a time, ms, that of a leased one with the alias of its holder; the history of a done message ends with how it ended, a acked, c cancelled, e expired: more 1 when there is another page; what is missing is nil
-- CODES -
-- COST O(log^2 N + n), N the messages of the partition, n <= 1000; 5 redis.calls, of leased ones 6, one more where dedup ids or what is to be remembered are in use, and one for each 128 messages, and log2 N more to find a place among equal times. Copies 1.25 MiB of records at most, or 1 MiB and one larger record: a page may be shorter than asked for
-- RETRY safe: it changes nothing
-- EMITS -
-- USES partition clock record fields fetch history leased ranks past
if not partition_layout then return {0} end
clock_read()
local low, high = ranks_bounds(ARGV[1])
local descending = ARGV[6] == '1'
if ARGV[4] ~= '' then
  local place = ranks_place(ARGV[1], ARGV[4], ARGV[5])
  if descending then high = math.min(high, place) else low = math.max(low, place) end
end
if low >= high then return {0} end
local found = ranks_page(ARGV[1], low, high, tonumber(ARGV[2]), descending)
local members, scores, ids = {}, {}, {}
for i = 1, #found, 2 do
  members[#members + 1], scores[#scores + 1] = found[i], found[i + 1]
  ids[#ids + 1] = string.match(found[i], '^[^:]*')
end
local done = ARGV[1] == 'done'
local function shelved(all, from, to) return redis.call('HMGET', KEYS[8], unpack(all, from, to)) end
local recs, n = fetch_records(ids, done and shelved)
ids = {unpack(ids, 1, n)}
local histories, stopping, texts, sizes, holders, names = {}, {}, {}, {}, {}, {}
if ARGV[1] == 'leased' then
  for i = 1, n do holders[i] = 'a:' .. scores[i] % 1024 end
  holders = redis.call('HMGET', KEYS[6], unpack(holders))
end
if done then
  for i = 1, n do histories[i], texts[i], recs[i], sizes[i] = past_parse(recs[i]) end
else
  histories, stopping = history_read(ids), history_cancels(ids)
  if partition_tried > 0 then texts = redis.call('HMGET', KEYS[1], unpack(fields_of('f:', ids))) end
  if partition_windows and n > 0 then names = redis.call('HMGET', KEYS[1], unpack(fields_of('w:', ids))) end
end
local out = {low + n < high and 1 or 0}
for i = 1, n do
  local _, _, _, start = record_parse(recs[i])
  local size, record, o = 0, recs[i], #out
  if start then
    size = sizes[i] or #record - start
    record = string.sub(record, 1, start + ARGV[3])
  end
  out[o + 1], out[o + 2], out[o + 3], out[o + 4] = members[i], scores[i], record or false, size
  out[o + 5], out[o + 6] = histories[i] or false, texts[i] or false
  out[o + 7], out[o + 8], out[o + 9] = stopping[i] or false, holders[i] or false, names[i] or false
end
return out
