-- What a claim hands out. places: "due receipt receipt... due receipt...", each due time
-- that of the receipts behind it; failed: "index:failures" of the deliveries that are not
-- the first try; records.
local places, failed, records, handed, p, told = {}, {}, {}, 0, 0, nil
local function hand(receipt, due, record)
  if due ~= told then p, told, places[p + 1] = p + 1, due, due end
  p, handed = p + 1, handed + 1
  places[p], records[handed] = receipt, record
end
local function failing(failures)
  if failures > 0 then failed[#failed + 1] = handed .. ':' .. failures end
end
-- deliver(): leases due messages, and returns how many it walked over: expired and
-- unreadable ones too. Most have no history, no key and no expiry, which their heads tell
-- at a glance.
local function deliver(ids, dues, once)
  local leases, expired, l, due = {}, 0, 0, nil
  local recs, n = fetch(ids)
  local past_of, deadline = history(ids), digits(up + ARGV[4])
  for i = 1, n do
    local id, record, receipt = ids[i], recs[i], nil
    due = dues[i] or due
    if record and usual(record) and not past_of[i] then
      receipt = id
      hand(receipt, due, record)
      if once then gone[#gone + 1] = id end
    else
      local most, expiry, key = parse(record)
      local attempt, failures = past(past_of[i])
      if not most then
        note(id, past_of[i], attempt, failures, '-', record and 'record corrupt' or 'record missing')
        bury(id, nil, false)
      elseif expiry > 0 and expiry <= now then
        gone[#gone + 1], expired = id, expired + 1
        unkey(key)
      else
        receipt = receipt_of(id, attempt + 1, key)
        hand(receipt, due, record)
        failing(failures)
        if once then
          gone[#gone + 1] = id
          unkey(key)
        end
      end
    end
    if receipt and not once then leases[l + 1], leases[l + 2], l = deadline, receipt, l + 2 end
  end
  redis.call('ZREM', KEYS[3], '-')
  if l > 0 then redis.call('ZADD', KEYS[3], unpack(leases)) end
  count('delivered', handed)
  count('expired', expired)
  if once then count('acked', handed) end
  return n
end
-- replay(): hands out what is still leased of an earlier answer.
local function replay(answer)
  local receipts, dues, ids = {}, {}, {}
  local due
  for text in string.gmatch(answer, '%S+') do
    if #text >= 26 then
      receipts[#receipts + 1], dues[#dues + 1], ids[#ids + 1] = text, due, string.sub(text, 1, 26)
    else
      due = text
    end
  end
  if #receipts == 0 then return end
  local held = redis.call('ZMSCORE', KEYS[3], unpack(receipts))
  local recs, n = fetch(ids)
  local past_of = history(ids)
  for i = 1, n do
    if held[i] and recs[i] then
      local _, failures = past(past_of[i])
      hand(receipts[i], dues[i], recs[i])
      failing(failures)
    end
  end
end
