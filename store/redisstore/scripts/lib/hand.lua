-- What a claim hands out. places: "due receipt receipt... due receipt...", each due time
-- that of the receipts behind it; failed: "index:failures" or "index:failures.snoozes" of
-- the deliveries that have a history or a schedule, with the suspicion behind it, "+earlier",
-- and "@now" with a schedule; records.
local places, failed, records, handed, p, noted = {}, {}, {}, 0, 0, nil
local function hand(receipt, due, record)
  if due ~= noted then p, noted, places[p + 1] = p + 1, due, due end
  p, handed = p + 1, handed + 1
  places[p], records[handed] = receipt, record
end
local function failing(h, repeats)
  if not h and not repeats then return end
  local _, failures, _, doubt, _, snoozes, earlier = past(h)
  local text = counted(failures, snoozes) .. doubt .. (earlier > 0 and '+' .. earlier or '')
  if repeats then text = text .. '@' .. now end
  if text ~= '0' then failed[#failed + 1] = handed .. ':' .. text end
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
      hand(receipts[i], dues[i], recs[i])
      local keyed = string.byte(receipts[i], -1) == 107
      failing(past_of[i], keyed and select(5, parse(recs[i])))
    end
  end
end
