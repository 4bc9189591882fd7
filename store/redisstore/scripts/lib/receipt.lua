-- A receipt is "id:attempt", with "k" behind it when the message has a key, or names one. Most
-- are of a first delivery without: those are the id alone, which saves making a text of them.
local function receipt_of(id, attempt, key)
  if key ~= '' then return id .. ':' .. attempt .. 'k' end
  return attempt == 1 and id or id .. ':' .. attempt
end
local function receipt_attempt(receipt)
  return #receipt == 26 and 1 or tonumber(string.match(receipt, '^:(%d+)k?$', 27))
end
