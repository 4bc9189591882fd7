-- For push: the messages as they were given, and when they are due.
local n = tonumber(ARGV[6])
local more, shared, farthest = #ARGV > 9 + 3 * n, #ARGV == 10 + 2 * n, up + ARGV[5]
local earliest = math.huge
local when, at
local function due_of(i)
  local text = ARGV[9 + 2 * n + (shared and 1 or i)]
  if text ~= when then
    when, at = text, string.byte(text) == 64 and math.max(now, tonumber(string.sub(text, 2))) or after(text)
  end
  return at
end
-- together(): due times and ids as ZADD wants them, or nothing if one is too far ahead.
local function together()
  local args, plan, soonest, due, text = ARGV, {}, math.huge, nil, nil
  for i = 1, n do
    if i == 1 or not shared then
      due = due_of(i)
      if due > farthest then return nil end
      if due < soonest then soonest = due end
      text = digits(due)
    end
    plan[2 * i - 1], plan[2 * i] = text, args[8 + 2 * i]
  end
  earliest = soonest
  return plan
end
