-- crash_delay(): how long a message waits whose lease ran out after its handler had
-- started, as store.CrashDelay has it. failures includes this one.
local function crash_delay(id, attempt, failures)
  local h = 0
  for i = 1, 26 do h = (h * 31 + string.byte(id, i)) % 65521 end
  h = h * (2 * attempt + 1) % 65521
  return h % math.min(100 * 2 ^ failures, 10000)
end
