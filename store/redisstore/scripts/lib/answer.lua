-- The answer to a batch: of the items that are not simply OK, "index:code" or "index:code:id".
local answer_exceptions = {}
local function answer_add(index, code, id)
  if code == CODE_OK and not id then return end
  answer_exceptions[#answer_exceptions + 1] = index .. ':' .. code .. (id and ':' .. id or '')
end
local function answer_text() return table.concat(answer_exceptions, ' ') end
