-- PURPOSE puts back leases that ran out, removes dead messages that need not be kept, then hands out messages that are due
-- TRANSITION ready -> leased; leased -> ready, scheduled, dead, (gone), done; ready -> (gone), or done, when expired, or at once when asked to unless it has a schedule; ready -> dead when the record cannot be read; dead, done -> (gone) when it is over age, or there are too many
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] consumer | text | - | 1 to 64 characters
-- ARGV[2] number | decimal | - | 20 digits
-- ARGV[3] max | int | messages | 1 to 500
-- ARGV[4] lease | int | ms | 1000 to 43200000
-- ARGV[5] once | 1 or 0 | - | 1: hand out and forget
-- ARGV[6] tries | int | - | 0: the first; 1: one before may still arrive, so remember this one even if it is empty; 2: it was answered with nothing before
-- ARGV[7] sweep | int | leases | most of them to put back
-- ARGV[8] longest | int | us | the longest wait to answer
-- ARGV[9] version | int | ms | of the settings that the caller knows; empty: none
-- RETURNS {status, wait us, runs, histories, records...}: status 0, 1 paused, 2 the call is older than the consumer's last; no more than the wait when nothing is handed out. runs: of each due time "due count receipt...", the receipts that share it; histories: of each delivery that has failed, was snoozed, is suspected or has a schedule "index failures snoozes suspicion earlier now", the index from 1: suspicion 0 none, 1 a lease ran out, 2 after its handler had started; earlier how many deliveries earlier occurrences had; now the instant where there is a schedule, else 0. {3, version} when the partition has settings of that version, or 0 when there is no such partition: nothing was done
-- CODES -
-- COST O((n + l + e) log N), N the messages of the partition, n <= 500 handed out, l <= 100 leases put back, e <= 1000 expired; 12 redis.calls, one for each 128 messages, and two for each further due time that 8 of them or more share; at most 5 more for a consumer without an alias, and one for each alias where bounds were lost; 6 and no write when idle; up to 100 more where messages are expired, and up to 101 where messages with keys die; where dead messages are limited 2, and 12 when some, at most 500, are removed; likewise where there is a history, and up to 20 for what becomes done. Copies 1.25 MiB of records at most, or 1 MiB and one larger record; half of that with a history
-- RETRY safe: the consumer's last number is kept with its receipts, and a repetition returns those that are still leased
-- EMITS -
-- USES partition clock instant record fields fetch receipt history counter remembered remove index donelimits done texts plan dead calls leased alias crash leases ready reply deliver
clock_read()
local consumer, number, most, once, tries = 'c:' .. ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[5] == '1', ARGV[6]
local ends, sweep_most, longest, version = clock_up + ARGV[4], tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
if version ~= '' and partition_version ~= version then return {3, partition_version or '0'} end
if not partition_layout then return {0, longest} end
local answer, stale = calls_recall(consumer, number)
if stale then return {2, 0} end
if tries == '2' then answer = answer or '' end
local lease = leases_soonest()
if not answer and lease <= clock_now then
  leases_sweep(sweep_most)
  lease = leases_soonest()
end
local more = false
if partition_dead_limits and not answer then
-- USES deadlimits
  more = deadlimits_apply()
end
if partition_done_limits and not answer then
  local left = donelimits_apply(500)
  if not partition_keeps_done and not left then redis.call('HDEL', KEYS[1], 'done') end
  more = more or left
end
if answer then
  reply_again(answer)
elseif not partition_paused then
  deliver_due(most, once, lease, ends)
  if reply_size > 0 and not once then lease = math.min(lease, ends) end
end
local runs = table.concat(reply_runs, ' ')
if not answer and (reply_size > 0 or tries == '1') then
  if reply_size == 0 then redis.call('ZREM', KEYS[3], '-') end
  calls_remember(consumer, number, once and '' or runs)
end
local next = more and math.min(lease, clock_now + 100) or lease
if not partition_paused then
  next = math.min(next, tonumber(redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2]) or math.huge)
end
if next == math.huge and partition_largest and not partition_done_limits and redis.call('HLEN', KEYS[2]) == 1 then
  redis.call('HDEL', KEYS[1], 'largest')
end
local wait = math.max(0, math.min(longest, (next - clock_now) * 1000 - clock_micros))
local status = not answer and partition_paused and 1 or 0
if reply_size == 0 then
  if partition_windows and not answer then remembered_retire({}) end
  return {status, wait}
end
return {status, wait, runs, table.concat(reply_histories, ' '), unpack(reply_records)}
