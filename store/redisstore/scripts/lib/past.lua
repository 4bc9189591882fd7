-- past_parse(): what past has of a message: its history, with how it ended, the last text that
-- was given with the end of a delivery, its record, and the size of its body if that was left
-- out.
local function past_parse(value)
  local h, n, size, from = string.match(value or '', '^(%S+ %S+ %S) (%d+)%+?(%d*) ()')
  if not h then return false, false, false end
  return h, string.sub(value, from, from + n - 1), string.sub(value, from + n), tonumber(size)
end
