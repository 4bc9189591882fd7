-- The answer to a batch: how many items were done, and "index:code" or "index:code:id" for
-- those that are not simply OK.
local odd = {}
local function say(index, code)
  if code ~= OK then odd[#odd + 1] = index .. ':' .. code end
end
