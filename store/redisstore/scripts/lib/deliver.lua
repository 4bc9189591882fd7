-- For claim: leases messages that are due.
-- deliver(): leases due messages until as many have been handed out as are wanted, and
-- removes those that are expired and buries those that cannot be read. Returns how many
-- there were of all, and of the latter two. Most have no history, no key and no expiry,
-- which their heads show at a glance. One that recurs is leased in any case: else its other
-- occurrences would be gone with this one. first: when the first of the other leases ends.
local function deliver(ids, dues, wanted, once, first)
  local leases, expired, l, due, before, kept = {}, 0, 0, nil, handed, 0
  local recs, n = fetch(ids)
  local past_of, ends, score = history(ids), up + ARGV[4], nil
  for i = 1, n do
    if handed == wanted then n = i - 1; break end
    local id, record, receipt, lease = ids[i], recs[i], nil, not once
    due = dues[i] or due
    if record and usual(record) and not past_of[i] then
      receipt = id
      hand(receipt, due, record)
      if once then leave(id, record, nil, nil, 'a', 1) end
    else
      local most, expiry, key, _, repeats, name = parse(record)
      local attempt, failures = past(past_of[i])
      if not most then
        note(id, past_of[i], attempt, failures, '-', record and 'record corrupt' or 'record missing')
        bury(id, nil, false)
      elseif expiry > 0 and expiry <= now then
        leave(id, record, key, past_of[i], 'e', attempt)
        expired = expired + 1
      else
        receipt = receipt_of(id, attempt + 1, name or key)
        hand(receipt, due, record)
        failing(past_of[i], repeats)
        if once and repeats then
          lease, kept = true, kept + 1
        elseif once then
          leave(id, record, key, past_of[i], 'a', attempt + 1)
        end
      end
    end
    if receipt and lease then
      if not score then
        identify(first)
        score = string.format('%d', ends * 1024 + alias)
      end
      leases[l + 1], leases[l + 2], l = score, receipt, l + 2
    end
  end
  if score and alias > 0 then leases[l + 1], leases[l + 2] = string.format('%d', BOUNDS + ends), '=' .. alias end
  redis.call('ZREM', KEYS[3], '-')
  if l > 0 then redis.call('ZADD', KEYS[3], 'GT', unpack(leases)) end
  local here = handed - before
  count('delivered', here)
  count('expired', expired)
  if once then count('acked', here - kept) end
  if #dead + #gone > 0 then
    entomb()
    settle()
  end
  redis.call('ZREMRANGEBYRANK', KEYS[4], 0, n - 1)
  return n, n - here
end
-- hand_out(): leases messages that are due, up to most of them. Expired and unreadable
-- messages do not count; where there are any, more is looked at, in growing steps, until
-- EXPIRED of them are gone.
local EXPIRED = 1000
local function hand_out(most, once, first)
  local walked, lost, ask = 0, 0, most
  while ask > 0 and handed < most and copied < BUDGET do
    local ids, dues = ready(ask)
    if #ids == 0 then return end
    local n, useless = deliver(ids, dues, most, once, first)
    walked, lost = walked + n, lost + useless
    if useless == 0 or #ids < ask then return end
    ask = math.min(2 * walked, EXPIRED - lost)
  end
end
