-- The schedule of a record that has one, and how many bytes the header without a name takes
-- that it is.
local function schedule_of(record)
  local at = 14 + string.byte(record, 10)
  local size, digits = string.byte(record, at), 1
  if size > 127 then size, digits = size - 128 + 128 * string.byte(record, at + 1), 2 end
  return string.sub(record, at + digits, at + digits + size - 1), 1 + digits + size
end
