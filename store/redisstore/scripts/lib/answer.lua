-- The answer to a batch: "index code id" of each item that is not simply OK, all behind blanks; the
-- index from 1, the id "-" where there is none.
local answer_exceptions = {}
local function answer_add(index, code, id)
  if code == CODE_OK and not id then return end
  answer_exceptions[#answer_exceptions + 1] = index .. ' ' .. code .. ' ' .. (id or '-')
end
local function answer_text() return table.concat(answer_exceptions, ' ') end
