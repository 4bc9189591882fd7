-- For push and next: the messages as they were given, and when they are due. From ARGV[11] on
-- there are n ids, each with its record behind it, then as many columns of n values as ARGV[7]
-- says: times; keys, TTLs and whether to replace; for how long to remember, and dedup ids. Of 0
-- columns there is one time for all. dues: where the times are.
local batch_size, batch_columns, batch_farthest = tonumber(ARGV[4]), tonumber(ARGV[7]), clock_up + ARGV[3]
local batch_dues, batch_same_due = 10 + 2 * batch_size, batch_columns == 0
local batch_keyed, batch_remembered = batch_columns >= 4, batch_columns == 6
local batch_earliest = math.huge
local batch_when, batch_at
local function batch_due(i)
  local text = ARGV[batch_dues + (batch_same_due and 1 or i)]
  if text ~= batch_when then
    batch_when = text
    batch_at = string.byte(text) == 64 and math.max(clock_now, tonumber(string.sub(text, 2))) or instant_after(text)
  end
  return batch_at
end
-- batch_entries(): due times and ids as ZADD wants them, or nothing if one is too far ahead.
local function batch_entries()
  local args, plan, soonest, due, text = ARGV, {}, math.huge, nil, nil
  for i = 1, batch_size do
    if i == 1 or not batch_same_due then
      due = batch_due(i)
      if due > batch_farthest then return nil end
      if due < soonest then soonest = due end
      text = instant_text(due)
    end
    plan[2 * i - 1], plan[2 * i] = text, args[9 + 2 * i]
  end
  batch_earliest = soonest
  return plan
end
