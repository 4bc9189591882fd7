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
-- ARGV[3] farthest | int | ms | the longest time ahead that a message may be due
-- ARGV[4] n | int | messages | 1 to 500
-- ARGV[5] new | 1 or 0 | - | 1: nothing can have had one of the ids before
-- ARGV[6] largest | int | bytes | the longest of the records
-- ARGV[7] columns | int | - | 0: one time for all; 1: times; 4: also keys, TTLs and replace; 6: also what is to be remembered
-- ARGV[8] producer | text | - | 1 to 64 characters
-- ARGV[9] number | decimal | - | 20 digits
-- ARGV[10] version | int | ms | of the settings that the caller knows
-- ARGV[11...] n times id and record; then columns of n values: when: a span, or "@" and an instant, or once for all; keys, TTLs (0: none), replace (1 or 0; 2 and 3 are 0 and 1 for a message that is stored only in the place of the one that has its key); for how long to be remembered (0: not), dedup ids (can be empty) | text, bytes; text; text, int, int; int, text | ms | a span is 0 to farthest
-- RETURNS {done, exceptions}: done is n, or -2 when the call is older than the producer's last; exceptions "index code id" of each that is not OK, or is OK since another message was declared: the id of that or of the holder, "-" where there is none. {-3, version} when the partition has settings of that version, or 0 when there is no such partition: nothing was done
-- CODES ok duplicate conflict full too_far expires known moved
-- COST O(n log N), N the messages of the partition, n <= 500; 8 or 9 redis.calls when they are new and none has a key; 2 when the messages are limited, 1 when a record is longer than all before it; where records may be long and one may be there already, up to 2 for each; for each that is declared up to 5, and 2 more; with windows or dedup ids 5 more, 1 for each dedup id that is known, and those of a claim where messages are replaced. Copies no more bytes than it is given
-- RETRY safe: the producer's last number is kept with its answer, and ids that are live are not stored again
-- EMITS wake, when the first due time becomes earlier
-- USES partition clock
clock_read()
-- USES instant calls counter wake batch largest
local producer, number, version = 'p:' .. ARGV[8], ARGV[9], ARGV[10]
local answer, stale = calls_recall(producer, number)
if answer then return {batch_size, answer} end
if stale then return {-2, ''} end
if partition_version ~= version then return {-3, partition_version or '0'} end
local before = wake_first()
-- USES livelimit
local function finish(sent, duplicates, deduplicated, answer)
  counter_add('sent', sent)
  counter_add('duplicates', duplicates)
  counter_add('deduplicated', deduplicated)
  calls_remember(producer, number, answer)
  wake_consumers(before, batch_earliest, ARGV[1], ARGV[2])
  return {batch_size, answer}
end
local plan = ARGV[5] == '1' and not batch_keyed and livelimit_live + batch_size <= livelimit_most and batch_entries()
if plan then
  largest_note(tonumber(ARGV[6]))
  redis.call('HSET', KEYS[2], unpack(ARGV, 11, 10 + 2 * batch_size))
  redis.call('ZADD', KEYS[4], unpack(plan))
  return finish(batch_size, 0, 0, '')
end
-- USES code schedule receipt fields history remembered remove state existing expiry staged keys declare known accept answer
-- decide(): the code of the i-th message and, for some, whose id or key it has.
local function decide(i)
  local id, record = accept_ids[i], ARGV[10 + 2 * i]
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
