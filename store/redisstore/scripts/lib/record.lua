-- The head of a record: most failures, expiry (0: none), key, where the body begins less
-- one. Nothing when the record is missing or cannot be read.
local function parse(r)
  if not r then return nil end
  local v, a, b, e1, e2, e3, e4, e5, e6, k, h, i = string.byte(r, 1, 12)
  if v ~= 1 or not i or a + b == 0 then return nil end
  local start = 12 + k + h * 256 + i
  if #r < start then return nil end
  local expiry = ((((e1 * 256 + e2) * 256 + e3) * 256 + e4) * 256 + e5) * 256 + e6
  return a * 256 + b, expiry, k > 0 and string.sub(r, 13, 12 + k) or '', start
end
