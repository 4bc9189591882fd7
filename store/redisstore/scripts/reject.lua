-- PURPOSE ends deliveries: straight to the dead letters
-- TRANSITION leased -> dead; (gone), or done, when a cancel was asked for
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1...] n receipts, n failures | text, text | - | n 1 to 500, failures up to 1024 bytes, empty: none
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index:code" for all but OK
-- CODES ok gone lease_lost cancelled
-- COST O(n log N), N the messages of the partition, n <= 500; 10 redis.calls, with keys one more, one for each 128, and one for each key that a dead message has already. Reads the records of messages with keys, 1.25 MiB at most, or 1 MiB and one larger record, and stops there. With a history, half of that, and up to 20 redis.calls more while cancels are under way
-- RETRY safe: the history records which delivery ended last and how, so a repetition gets the same code
-- EMITS -
-- USES open codes time record fetch receipt history count retire forget plan lists bury leases lost answer
if not s[1] then return {-1, ''} end
if keeps then
-- USES unshelve shed done
end
local n, cancelled = #ARGV / 2, 0
local at, ids, recs, late, last = leases(1, n, keeps and stops > 0 and 'all' or 'keyed')
local past_of, stop = history(ids), cancelling(ids)
for j = 1, #at do
  local i, id = at[j], ids[j]
  local _, _, key, _, _, name = parse(recs[id])
  ended[j] = ARGV[i]
  if stop[j] then
    leave(id, recs[id], key, past_of[j], 'c', attempt_of(ARGV[i]))
    cancelled = cancelled + 1
    say(i, CANCELLED)
  else
    local _, failures = past(past_of[j])
    note(id, past_of[j], attempt_of(ARGV[i]), failures + 1, 'j', ARGV[i + n])
    bury(id, key, true, name)
  end
end
if #at > 0 then
  entomb()
  settle()
  count('rejected', #at - cancelled)
  count('cancelled', cancelled)
end
for _, i in ipairs(late) do say(i, lost(ARGV[i], 'j')) end
return {last, table.concat(odd, ' ')}
