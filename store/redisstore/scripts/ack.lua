-- PURPOSE ends deliveries: done
-- TRANSITION leased -> (gone)
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- ARGV[1...] receipts | text | - | 1 to 500, "id:attempt", with "k" behind it when the message has a key
-- RETURNS {done, exceptions}: done how many receipts were looked at, -1 when there is no such partition; exceptions "index:code" for all but OK
-- CODES ok gone lease_lost
-- COST O(n log N), N the leases of the partition, n <= 500; 5 redis.calls, with keys one more for each 16. Reads the records of messages with keys, 1 MiB and 16 records at most, and stops there
-- RETRY safe: a receipt is never issued twice, and one whose message is gone is answered so
-- EMITS -
-- USES open codes record fetch history count forget leases lost answer
if not s[1] then return {-1, ''} end
local at, ids, recs, late, last = leases(1, #ARGV, 'keyed')
local mine, keys = {}, {}
for j = 1, #at do
  mine[j] = ARGV[at[j]]
  local _, _, key = parse(recs[ids[j]])
  if key and key ~= '' then keys[#keys + 1] = 'k:' .. key end
end
if #mine > 0 then
  redis.call('ZREM', KEYS[3], unpack(mine))
  forget(ids, keys)
  count('acked', #mine)
end
for _, i in ipairs(late) do say(i, lost(ARGV[i], 'a')) end
return {last, table.concat(odd, ' ')}
