-- For check: the problems that were found. read: the bytes of records that
-- were copied.
local problems, read = {}, 0
local function bad(element, text)
  if #problems < 4000 then problems[#problems + 1], problems[#problems + 2] = element, text end
end
