-- expiry_set(): a record with another expiry; 0 is none.
local function expiry_set(record, at)
  local b = {}
  for i = 6, 1, -1 do
    b[i] = at % 256
    at = (at - b[i]) / 256
  end
  return string.sub(record, 1, 3) .. string.char(unpack(b)) .. string.sub(record, 10)
end
