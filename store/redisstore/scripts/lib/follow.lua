-- For next: the messages of a receipt.
-- begins: how many messages come before those of a receipt.
local begins, total = {}, 0
for size in string.gmatch(ARGV[9], '%d+') do begins[#begins + 1], total = total, total + size end
begins[#begins + 1] = total
-- follow(): accepts the messages of the x-th receipt, unless one is refused. Which of them there
-- are already is looked at first.
local function follow(x)
  local new = {}
  for i = begins[x] + 1, begins[x + 1] do
    if not present(i) then
      if sent_before(i, ids[i]) then deduplicated = deduplicated + 1 else new[#new + 1] = i end
    end
  end
  if crowded and #new > 0 then return FULL end
  for _, i in ipairs(new) do
    local code = accept(i, ids[i], ARGV[9 + 2 * i])
    if code ~= OK then return code end
  end
  return OK
end
-- followed(): whether all messages of the x-th receipt are known.
local function followed(x)
  for i = begins[x] + 1, begins[x + 1] do
    local key, repeats = ARGV[9 + 3 * n + i], string.byte(ARGV[9 + 2 * i], 2) >= 128
    local declared = repeats and string.match(owner[key] or '', '^%l', 28)
    if not (present(i) or sent_before(i, ids[i]) or declared) then return false end
  end
  return true
end
