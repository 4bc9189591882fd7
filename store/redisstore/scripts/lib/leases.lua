-- leases_soonest(): when the first lease runs out. leases_sweep(): puts back those that have. Only a
-- delivery whose handler had started has failed; the message then waits, so that it does
-- not come back with all that were leased at the same time. A recurring message is
-- handed out also without attempts left: the consumer that gets it knows when it is due next.
local function leases_soonest()
  local score = tonumber(redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2]) or math.huge
  return score < LEASED_BOUNDS and math.floor(score / 1024) or math.huge
end
local function leases_sweep(limit)
  local to = '(' .. instant_text((clock_now + 1) * 1024)
  local receipts = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', to, 'LIMIT', 0, limit)
  local ids, attempts, cancelled = {}, {}, 0
  for i, r in ipairs(receipts) do
    ids[i], attempts[i] = string.sub(r, 1, 26), receipt_attempt(r)
  end
  local recs, n = fetch_records(ids)
  local histories, stop = history_read(ids), history_cancels(ids)
  for i = 1, n do
    local id, most, _, key, _, repeats, name = ids[i], record_parse(recs[i])
    plan_ended[i] = receipts[i]
    if stop[i] then
      plan_end(id, recs[i], key, histories[i], 'c', attempts[i] or 1)
      cancelled = cancelled + 1
    else
      local attempt, _, failures, _, doubt, begun = attempts[i] or 1, history_parse(histories[i])
      if begun then failures, doubt = failures + 1, 'c' end
      plan_history(id, histories[i], attempt, failures, doubt == 'c' and 'lc' or 'lu', 'lease ran out')
      if not most or begun and failures >= most and not repeats then
        dead_add(id, key, most, name)
      else
        plan_again(id, begun and clock_now + crash_delay(id, attempt, failures) or clock_now)
      end
    end
  end
  dead_write()
  plan_write()
  counter_add('lease_lost', n)
  counter_add('cancelled', cancelled)
end
