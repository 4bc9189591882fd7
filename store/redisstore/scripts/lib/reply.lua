-- What a claim hands out. places: "due receipt receipt... due receipt...", each due time
-- that of the receipts behind it; failed: "index:failures" or "index:failures.snoozes" of
-- the deliveries that have a history or a schedule, with the suspicion behind it, "+earlier",
-- and "@now" with a schedule; records.
local reply_runs, reply_histories, reply_records, reply_size, reply_last, reply_due = {}, {}, {}, 0, 0, nil
local function reply_add(receipt, due, record)
  if due ~= reply_due then reply_last, reply_due, reply_runs[reply_last + 1] = reply_last + 1, due, due end
  reply_last, reply_size = reply_last + 1, reply_size + 1
  reply_runs[reply_last], reply_records[reply_size] = receipt, record
end
local function reply_history(h, repeats)
  if not h and not repeats then return end
  local _, failures, _, doubt, _, snoozes, earlier = history_parse(h)
  local text = history_counts(failures, snoozes) .. doubt .. (earlier > 0 and '+' .. earlier or '')
  if repeats then text = text .. '@' .. clock_now end
  if text ~= '0' then reply_histories[#reply_histories + 1] = reply_size .. ':' .. text end
end
-- reply_again(): hands out what is still leased of an earlier answer.
local function reply_again(answer)
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
  local recs, n = fetch_records(ids)
  local histories = history_read(ids)
  for i = 1, n do
    if held[i] and recs[i] then
      reply_add(receipts[i], dues[i], recs[i])
      local keyed = string.byte(receipts[i], -1) == 107
      reply_history(histories[i], keyed and select(5, record_parse(recs[i])))
    end
  end
end
