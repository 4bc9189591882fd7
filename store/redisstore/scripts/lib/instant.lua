-- instant_text(): an instant as text. Redis would write a number with 17 digits, which takes
-- longer than the rest of a ZADD; here equal ones in a row are written once.
local instant_last, instant_written
local function instant_text(instant)
  if instant ~= instant_last then instant_last, instant_written = instant, string.format('%d', instant) end
  return instant_written
end
-- instant_after(): the instant at the end of a span from now.
local function instant_after(span)
  span = tonumber(span)
  return span > 0 and clock_up + span or clock_now
end
