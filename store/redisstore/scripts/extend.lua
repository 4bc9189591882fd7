-- PURPOSE makes leases last longer, never shorter
-- TRANSITION leased -> leased
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- ARGV[1...] n receipts, n leases | text, int | ms | n 1 to 500, leases 1000 to 43200000
-- RETURNS {done, exceptions}: done is n, -1 when there is no such partition; exceptions "index:code" for all but OK
-- CODES ok gone lease_lost cancelled
-- COST O(n log N), N the leases of the partition, n <= 500; 5 redis.calls
-- RETRY safe: a repetition extends from its own time on, and never shortens
-- EMITS -
-- USES open codes time history answer
if not s[1] then return {-1, ''} end
local n = #ARGV / 2
local held = redis.call('ZMSCORE', KEYS[3], unpack(ARGV, 1, n))
local ends, ids, at = {}, {}, {}
for i = 1, n do
  if held[i] then
    ends[#ends + 1], ends[#ends + 2] = digits(up + ARGV[i + n]), ARGV[i]
    ids[#ids + 1], at[#at + 1] = string.sub(ARGV[i], 1, 26), i
  elseif redis.call('HEXISTS', KEYS[2], string.sub(ARGV[i], 1, 26)) == 1 then
    say(i, LEASE_LOST)
  else
    say(i, GONE)
  end
end
if #ends > 0 then
  redis.call('ZREM', KEYS[3], '-')
  redis.call('ZADD', KEYS[3], 'XX', 'GT', unpack(ends))
end
local stop = cancelling(ids)
for j = 1, #at do
  if stop[j] then say(at[j], CANCELLED) end
end
return {n, table.concat(odd, ' ')}
