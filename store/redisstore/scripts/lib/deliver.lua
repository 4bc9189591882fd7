-- For claim: leases messages that are due.
-- deliver_batch(): leases due messages until as many have been handed out as are wanted, and
-- removes those that are expired and buries those that cannot be read. Returns how many
-- there were of all, and of the latter two. Most have no history, no key and no expiry,
-- which their heads show at a glance. A recurring message is always leased, because otherwise
-- its other occurrences would be gone with this one. first: when the first of the other leases ends;
-- ends: when those of this claim do.
local function deliver_batch(ids, dues, wanted, once, first, ends)
  local leases, expired, l, due, before, kept = {}, 0, 0, nil, reply_size, 0
  local recs, n = fetch_records(ids)
  local histories, score = history_read(ids), nil
  for i = 1, n do
    if reply_size == wanted then n = i - 1; break end
    local id, record, receipt, lease = ids[i], recs[i], nil, not once
    due = dues[i] or due
    if record and record_usual(record) and not histories[i] then
      receipt = id
      reply_add(receipt, due, record)
      if once then plan_end(id, record, nil, nil, 'a', 1) end
    else
      local most, expiry, key, _, repeats, name = record_parse(record)
      local attempt, failures = history_parse(histories[i])
      if not most then
        plan_history(id, histories[i], attempt, failures, '-', record and 'record corrupt' or 'record missing')
        dead_add(id, nil, false)
      elseif expiry > 0 and expiry <= clock_now then
        plan_end(id, record, key, histories[i], 'e', attempt)
        expired = expired + 1
      else
        receipt = receipt_of(id, attempt + 1, name or key)
        reply_add(receipt, due, record)
        reply_history(histories[i], repeats)
        if once and repeats then
          lease, kept = true, kept + 1
        elseif once then
          plan_end(id, record, key, histories[i], 'a', attempt + 1)
        end
      end
    end
    if receipt and lease then
      if not score then
        alias_ensure(first)
        score = string.format('%d', ends * 1024 + calls_alias)
      end
      leases[l + 1], leases[l + 2], l = score, receipt, l + 2
    end
  end
  if score and calls_alias > 0 then
    leases[l + 1], leases[l + 2] = string.format('%d', LEASED_BOUNDS + ends), '=' .. calls_alias
  end
  redis.call('ZREM', KEYS[3], '-')
  if l > 0 then redis.call('ZADD', KEYS[3], 'GT', unpack(leases)) end
  local here = reply_size - before
  counter_add('delivered', here)
  counter_add('expired', expired)
  if once then counter_add('acked', here - kept) end
  if #dead_entries + #plan_gone > 0 then
    dead_write()
    plan_write()
  end
  redis.call('ZREMRANGEBYRANK', KEYS[4], 0, n - 1)
  return n, n - here
end
-- deliver_due(): leases messages that are due, up to most of them. Expired and unreadable
-- messages do not count; where there are any, more is looked at, in growing steps, until
-- EXPIRED of them are gone.
local DELIVER_EXPIRED = 1000
local function deliver_due(most, once, first, ends)
  local walked, lost, ask = 0, 0, most
  while ask > 0 and reply_size < most and fetch_copied < fetch_budget do
    local ids, dues = ready_messages(ask)
    if #ids == 0 then return end
    local n, useless = deliver_batch(ids, dues, most, once, first, ends)
    walked, lost = walked + n, lost + useless
    if useless == 0 or #ids < ask then return end
    ask = math.min(2 * walked, DELIVER_EXPIRED - lost)
  end
end
