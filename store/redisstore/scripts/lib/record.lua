-- The head of a record: most failures, expiry (0: none), key, where the body begins less
-- one; whether it has a schedule; and of a letter, which is what became of an occurrence that
-- failed, the key that it names and does not hold. Nothing when the record is missing or
-- cannot be read. Most heads without a key are like the one before, so the last of them is
-- kept.
local record_last, record_most, record_expiry, record_start
local function record_parse(r)
  if not r then return nil end
  local head = string.sub(r, 1, 12)
  if head == record_last and #r >= record_start then return record_most, record_expiry, '', record_start end
  local v, a, b, e1, e2, e3, e4, e5, e6, k, h, i = string.byte(head, 1, 12)
  if v ~= 1 or not i or a % 64 + b == 0 then return nil end
  local start = 12 + k + h * 256 + i
  if #r < start or a >= 64 and k == 0 then return nil end
  local expiry = ((((e1 * 256 + e2) * 256 + e3) * 256 + e4) * 256 + e5) * 256 + e6
  if a >= 128 then return a % 64 * 256 + b, expiry, string.sub(r, 13, 12 + k), start, true end
  if a >= 64 then return a % 64 * 256 + b, expiry, '', start, false, string.sub(r, 13, 12 + k) end
  if k > 0 then return a * 256 + b, expiry, string.sub(r, 13, 12 + k), start end
  record_last, record_most, record_expiry, record_start = head, a * 256 + b, expiry, start
  return record_most, expiry, '', start
end
-- record_usual(): whether the record has the head that was parsed last, without key or expiry.
local function record_usual(r)
  return record_expiry == 0 and string.sub(r, 1, 12) == record_last and #r >= record_start
end
