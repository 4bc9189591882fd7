-- Collects what becomes of leased messages. plan_write() writes it: what is added, then what
-- is removed. Its first write is one that Redis allows at maxmemory, so the rest is too.
-- due: due times and ids; records: ids and records; fields: of side, and their values; ended:
-- receipts; gone: ids of messages that end; free: fields of side to be removed; fresh: how many
-- messages get their first history; failed: ids of those that get a failure text besides others.
local plan_due, plan_records, plan_fields, plan_ended, plan_gone, plan_free = {}, {}, {}, {}, {}, {}
local plan_failed, plan_numbers, plan_texts = {}, {}, {}
local plan_earliest, plan_fresh = math.huge, 0
-- plan_history(): the history of a message after h; snoozed: 1 when a snooze is added.
local function plan_history(id, h, deliveries, failures, how, text, snoozed)
  local _, _, _, _, _, snoozes, earlier = history_parse(h)
  if not h then plan_fresh = plan_fresh + 1 end
  local counts = history_counts(failures, snoozes + (snoozed or 0))
  plan_fields[#plan_fields + 1] = 'h:' .. id
  plan_fields[#plan_fields + 1] = history_counts(deliveries, earlier) .. ' ' .. counts .. ' ' .. how
  if text == '' then return end
  if h then
    local n = #plan_failed + 1
    plan_failed[n], plan_numbers[n], plan_texts[n] = id, deliveries, text
  else
    plan_fields[#plan_fields + 1] = 'f:' .. id
    plan_fields[#plan_fields + 1] = texts_with(nil, clock_now, deliveries, text)
  end
end
-- plan_add_texts(): adds texts to those of before.
local function plan_add_texts()
  if #plan_failed == 0 then return end
  local before = redis.call('HMGET', KEYS[1], unpack(fields_of('f:', plan_failed)))
  for i, id in ipairs(plan_failed) do
    plan_fields[#plan_fields + 1] = 'f:' .. id
    plan_fields[#plan_fields + 1] = texts_with(before[i], clock_now, plan_numbers[i], plan_texts[i])
  end
  plan_failed, plan_numbers, plan_texts = {}, {}, {}
end
-- plan_again(): a message is due again.
local function plan_again(id, at)
  plan_due[#plan_due + 1], plan_due[#plan_due + 2] = instant_text(at), id
  plan_earliest = math.min(plan_earliest, at)
end
-- plan_unkey(): a key becomes free.
local function plan_unkey(key)
  if key and key ~= '' then plan_free[#plan_free + 1] = 'k:' .. key end
end
-- plan_end(): a message ends, see done_add().
local function plan_end(id, record, key, h, how, deliveries)
  plan_gone[#plan_gone + 1] = id
  plan_unkey(key)
  if partition_keeps_done then done_add(id, record, h, how, deliveries) end
end
local function plan_write()
  plan_add_texts()
  redis.call('ZREM', KEYS[3], '-')
  if #plan_records > 0 then redis.call('HSET', KEYS[2], unpack(plan_records)) end
  if #plan_due > 0 then redis.call('ZADD', KEYS[4], unpack(plan_due)) end
  if #plan_fields > 0 then redis.call('HSET', KEYS[1], unpack(plan_fields)) end
  if plan_fresh > 0 then redis.call('HINCRBY', KEYS[1], 'tried', plan_fresh) end
  if partition_keeps_done then done_write() end
  if #plan_ended > 0 then redis.call('ZREM', KEYS[3], unpack(plan_ended)) end
  remove_messages(plan_gone, plan_free)
  partition_tried, plan_fresh = partition_tried + plan_fresh, 0
  plan_due, plan_records, plan_fields, plan_ended, plan_gone, plan_free = {}, {}, {}, {}, {}, {}
end
