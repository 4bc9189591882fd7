-- For check: the problems that were found. read: the bytes of records that
-- were copied.
local problems_found, problems_bytes = {}, 0
local function problems_add(element, text)
  if #problems_found < 4000 then
    problems_found[#problems_found + 1], problems_found[#problems_found + 2] = element, text
  end
end
