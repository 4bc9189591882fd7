-- What a claim hands out. places: receipt, due, receipt, due...; failed: "index:failures" of
-- the deliveries that are not the first try; records.
local places, failed, records, handed = {}, {}, {}, 0
local function hand(receipt, due, failures, record)
  handed = handed + 1
  places[2 * handed - 1], places[2 * handed], records[handed] = receipt, due, record
  if failures > 0 then failed[#failed + 1] = handed .. ':' .. failures end
end
-- deliver(): leases due messages, and returns how many it walked over: expired and
-- unreadable ones too.
local function deliver(ids, dues, once)
  local leases, bytes, expired, l = {}, 0, 0, 0
  local recs, n = fetch(ids)
  local past_of, deadline, walked = history(ids), digits(up + ARGV[4]), 0
  for i = 1, n do
    local id, record = ids[i], recs[i]
    local most, expiry, key = parse(record)
    local attempt, failures = 0, 0
    if past_of[i] then attempt, failures = past(past_of[i]) end
    if not most then
      note(id, past_of[i], attempt, failures, '-', record and 'record corrupt' or 'record missing')
      bury(id, nil, false)
    elseif expiry > 0 and expiry <= now then
      gone[#gone + 1], expired = id, expired + 1
      unkey(key)
    else
      bytes = bytes + #record
      if bytes > BUDGET and handed > 0 then break end
      local receipt = id .. (attempt == 0 and ':1' or ':' .. attempt + 1)
      if key ~= '' then receipt = receipt .. 'k' end
      hand(receipt, dues[i], failures, record)
      if once then
        gone[#gone + 1] = id
        unkey(key)
      else
        leases[l + 1], leases[l + 2], l = deadline, receipt, l + 2
      end
    end
    walked = i
  end
  redis.call('ZREM', KEYS[3], '-')
  if l > 0 then redis.call('ZADD', KEYS[3], unpack(leases)) end
  count('delivered', handed)
  count('expired', expired)
  if once then count('acked', handed) end
  return walked
end
-- replay(): hands out what is still leased of an earlier answer.
local function replay(answer)
  local receipts, dues, ids = {}, {}, {}
  for r, due in string.gmatch(answer, '(%S+) (%S+)') do
    receipts[#receipts + 1], dues[#dues + 1], ids[#ids + 1] = r, due, string.sub(r, 1, 26)
  end
  if #receipts == 0 then return end
  local held = redis.call('ZMSCORE', KEYS[3], unpack(receipts))
  local recs, n = fetch(ids)
  local past_of = history(ids)
  for i = 1, n do
    if held[i] and recs[i] then
      local _, failures = past(past_of[i])
      hand(receipts[i], dues[i], failures, recs[i])
    end
  end
end
