-- For claim. memory: "receipt due" of what was handed out, to be kept for a repetition.
local memory = {}
-- deliver(): leases due messages (id, due, id, due...), appends them to out, and returns
-- how many it walked over: expired and unreadable ones too.
local function deliver(list, once, out)
  local ids, leases, bytes, delivered, expired = {}, {}, 0, 0, 0
  for i = 1, #list, 2 do ids[#ids + 1] = list[i] end
  local recs, n = fetch(ids)
  local past_of, deadline, walked = history(ids), digits(up + ARGV[4]), 0
  for i = 1, n do
    local id, record = ids[i], recs[i]
    local most, expiry, key = parse(record)
    local attempt, failures = past(past_of[i])
    if not most then
      note(id, past_of[i], attempt, failures, '-', record and 'record corrupt' or 'record missing')
      bury(id, nil, false)
    elseif expiry > 0 and expiry <= now then
      gone[#gone + 1], expired = id, expired + 1
      unkey(key)
    else
      bytes = bytes + #record
      if bytes > BUDGET and delivered > 0 then break end
      local receipt, o = id .. (attempt == 0 and ':1' or ':' .. attempt + 1), #out
      if key ~= '' then receipt = receipt .. 'k' end
      delivered = delivered + 1
      out[o + 1], out[o + 2], out[o + 3], out[o + 4] = receipt, list[2 * i], failures, record
      if once then
        gone[#gone + 1] = id
        unkey(key)
      else
        leases[#leases + 1], leases[#leases + 2] = deadline, receipt
        memory[#memory + 1], memory[#memory + 2] = receipt, list[2 * i]
      end
    end
    walked = i
  end
  redis.call('ZREM', KEYS[3], '-')
  if #leases > 0 then redis.call('ZADD', KEYS[3], unpack(leases)) end
  count('delivered', delivered)
  count('expired', expired)
  if once then count('acked', delivered) end
  return walked
end
-- replay(): appends what is still leased of an earlier answer.
local function replay(answer, out)
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
      local o = #out
      out[o + 1], out[o + 2], out[o + 3], out[o + 4] = receipts[i], dues[i], failures, recs[i]
    end
  end
end
