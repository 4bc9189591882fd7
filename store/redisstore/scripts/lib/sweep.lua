-- soonest(): when the first lease runs out. sweep(): puts back those that have. Only a
-- delivery whose handler had started has failed; the message then waits, so that it does
-- not come back with all that were leased at the same time. A recurring message goes on
-- without attempts left: the consumer that gets it knows when it is due next.
local function soonest()
  local score = tonumber(redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2]) or math.huge
  return score < BOUNDS and math.floor(score / 1024) or math.huge
end
local function sweep(limit)
  local receipts = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '(' .. digits((now + 1) * 1024), 'LIMIT', 0, limit)
  local ids, attempts, cancelled = {}, {}, 0
  for i, r in ipairs(receipts) do
    ids[i], attempts[i] = string.sub(r, 1, 26), attempt_of(r)
  end
  local recs, n = fetch(ids)
  local past_of, stop = history(ids), cancelling(ids)
  for i = 1, n do
    local id, most, _, key, _, repeats, name = ids[i], parse(recs[i])
    ended[i] = receipts[i]
    if stop[i] then
      leave(id, recs[i], key, past_of[i], 'c', attempts[i] or 1)
      cancelled = cancelled + 1
    else
      local attempt, _, failures, _, doubt, begun = attempts[i] or 1, past(past_of[i])
      if begun then failures, doubt = failures + 1, 'c' end
      note(id, past_of[i], attempt, failures, doubt == 'c' and 'lc' or 'lu', 'lease ran out')
      if not most or begun and failures >= most and not repeats then
        bury(id, key, most, name)
      else
        again(id, begun and now + crash_delay(id, attempt, failures) or now)
      end
    end
  end
  entomb()
  settle()
  count('lease_lost', n)
  count('cancelled', cancelled)
end
