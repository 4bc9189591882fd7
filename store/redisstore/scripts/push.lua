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
-- ARGV[10...] n times id and record, n times when (once, if it is the same for all and nothing follows): a span, or "@" and an instant; then, when one of them has more: n keys, n TTLs (0: none), n replace (1 or 0), then, when one of them is to be remembered: n times for how long (0: not), n dedup ids (can be empty) | text, bytes; text; text, int, int; int, text | ms | a span is 0 to farthest
-- RETURNS {done, exceptions}: done is n, or -2 when the call is older than the producer's last; exceptions "index:code" or "index:code:holder" for all but OK, and for OK when another message has been declared. {-3, version} when the partition has settings of that version, or 0 when there is no such partition: nothing was done
-- CODES ok duplicate conflict full too_far expires known
-- COST O(n log N), N the messages of the partition, n <= 500; 8 or 9 redis.calls when they are new and none has a key; 2 when the messages are limited, 1 when a record is longer than all before it; where records may be long and one may be there already, up to 2 for each; for each that is declared up to 5, and 2 more; with windows or dedup ids 5 more, 1 for each dedup id that is known, and those of a claim where messages are replaced. Copies no more bytes than it is given
-- RETRY safe: the producer's last number is kept with its answer, and ids that are live are not stored again
-- EMITS wake, when the first due time becomes earlier
-- USES partition clock
clock_read()
-- USES instant calls counter wake batch largest
local answer, stale = calls_recall('p:' .. ARGV[3], ARGV[4])
if answer then return {batch_size, answer} end
if stale then return {-2, ''} end
if partition_version ~= ARGV[9] then return {-3, partition_version or '0'} end
local before = wake_first()
-- USES room
local function finish(sent, duplicates, deduplicated, answer)
  counter_add('sent', sent)
  counter_add('duplicates', duplicates)
  counter_add('deduplicated', deduplicated)
  calls_remember('p:' .. ARGV[3], ARGV[4], answer)
  wake_consumers(before, batch_earliest)
  return {batch_size, answer}
end
local plan = ARGV[7] == '1' and not batch_keyed and room_live + batch_size <= room_most and batch_entries()
if plan then
  largest_note(tonumber(ARGV[8]))
  redis.call('HSET', KEYS[2], unpack(ARGV, 10, 9 + 2 * batch_size))
  redis.call('ZADD', KEYS[4], unpack(plan))
  return finish(batch_size, 0, 0, '')
end
-- USES code schedule receipt fields history remembered remove state existing expiry staged keys declare known accept answer
-- decide(): the code of the i-th message and, for some, whose id or key it has.
local function decide(i)
  local id, record = accept_ids[i], ARGV[9 + 2 * i]
  local was = accept_present(i)
  if was then return existing_same(was, record) and CODE_OK or CODE_CONFLICT end
  local first = known_before(i, id)
  if first then
    accept_deduplicated = accept_deduplicated + 1
    if first == id then return CODE_OK end
    return CODE_KNOWN, first
  end
  local code, holder = accept_message(i, id, record)
  if code == CODE_DUPLICATE then accept_duplicates = accept_duplicates + 1 end
  return code, holder
end
accept_load()
for i = 1, batch_size do
  answer_add(i, decide(i))
end
accept_write()
return finish(accept_sent, accept_duplicates, accept_deduplicated, answer_text())
