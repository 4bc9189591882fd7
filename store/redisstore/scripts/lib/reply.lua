-- What a claim hands out.
-- runs: of each due time that receipts share: "due count receipt receipt...". run: where the count of
-- the last is, length: that count.
-- histories: of each delivery that has one, or a schedule: "index failures snoozes suspicion earlier
-- now", the index from 1; suspicion 0, 1 (suspect) or 2 (crashed); earlier: deliveries of earlier
-- occurrences; now: the instant where there is a schedule, else 0.
-- records: in the order of the receipts. size: how many there are.
local reply_runs, reply_histories, reply_records, reply_size = {}, {}, {}, 0
local reply_last, reply_due, reply_run, reply_length = 0, nil, 0, 0
local function reply_add(receipt, due, record)
  if due == reply_due then
    reply_length = reply_length + 1
    reply_runs[reply_run] = reply_length
  else
    reply_runs[reply_last + 1], reply_runs[reply_last + 2] = due, '1'
    reply_due, reply_run, reply_length, reply_last = due, reply_last + 2, 1, reply_last + 2
  end
  reply_last, reply_size = reply_last + 1, reply_size + 1
  reply_runs[reply_last], reply_records[reply_size] = receipt, record
end
local function reply_history(h, repeats)
  if not h and not repeats then return end
  local _, failures, _, doubt, _, snoozes, earlier = history_parse(h)
  if failures + snoozes + earlier == 0 and doubt == '' and not repeats then return end
  local suspicion = doubt == 'u' and 1 or doubt == 'c' and 2 or 0
  local numbers = {reply_size, failures, snoozes, suspicion, earlier, repeats and clock_now or 0}
  reply_histories[#reply_histories + 1] = table.concat(numbers, ' ')
end
-- reply_again(): hands out what is still leased of an earlier answer.
local function reply_again(answer)
  local receipts, dues, ids = {}, {}, {}
  local word = string.gmatch(answer, '%S+')
  for due in word do
    for _ = 1, tonumber(word()) do
      local receipt = word()
      receipts[#receipts + 1], dues[#dues + 1], ids[#ids + 1] = receipt, due, string.sub(receipt, 1, 26)
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
