-- PURPOSE ends deliveries: failed
-- TRANSITION leased -> scheduled, ready; dead when out of attempts; (gone), or done, when a cancel was asked for
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] wake | text | - | "wake p"
-- ARGV[3...] n receipts, n delays, n failures | text, int, text | ms | n 1 to 500, delays from 0, failures up to 1024 bytes, empty: none
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index:code" for all but OK
-- CODES ok dead gone lease_lost cancelled
-- COST O(n log N), N the messages of the partition, n <= 500; 9 redis.calls and one for each 128 messages; where messages with keys die, one more, and one for each key that a dead message has already. Reads records, 1.25 MiB at most, or 1 MiB and one larger record, and stops there. With a history, half of that, and up to 20 redis.calls more while cancels are under way
-- RETRY safe: the history records which delivery ended last and how, so a repetition gets the same code
-- EMITS wake, when the first due time becomes earlier
-- USES open codes time record fetch receipt history count retire forget plan lists bury leases lost failed wake answer
if not s[1] then return {-1, ''} end
if keeps then
-- USES unshelve shed done
end
local n, cancelled, before = (#ARGV - 2) / 3, 0, first()
local at, ids, recs, late, last = leases(3, 2 + n, 'all')
local past_of, stop = history(ids), cancelling(ids)
for j = 1, #at do
  local i, id = at[j], ids[j]
  local most, _, key, _, _, name = parse(recs[id])
  ended[j] = ARGV[i]
  if stop[j] then
    leave(id, recs[id], key, past_of[j], 'c', attempt_of(ARGV[i]))
    cancelled = cancelled + 1
    say(i - 2, CANCELLED)
  else
    local _, failures = past(past_of[j])
    note(id, past_of[j], attempt_of(ARGV[i]), failures + 1, 'n', ARGV[i + 2 * n])
    if failures + 1 >= (most or 0) then
      bury(id, key, most, name)
      say(i - 2, DEAD)
    else
      again(id, after(ARGV[i + n]))
    end
  end
end
if #at > 0 then
  entomb()
  settle()
  count('nacked', #at - cancelled)
  count('cancelled', cancelled)
  wake(before, earliest)
end
for _, i in ipairs(late) do say(i - 2, failed(ARGV[i])) end
return {last - 2, table.concat(odd, ' ')}
