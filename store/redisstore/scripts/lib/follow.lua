-- For next: the messages of a receipt.
-- begins: how many messages come before those of a receipt.
local follow_begins, follow_total = {}, 0
for size in string.gmatch(ARGV[9], '%d+') do
  follow_begins[#follow_begins + 1], follow_total = follow_total, follow_total + size
end
follow_begins[#follow_begins + 1] = follow_total
-- follow_accept(): accepts the messages of the x-th receipt, unless one is refused. Which of them there
-- are already is looked at first.
local function follow_accept(x)
  local new = {}
  for i = follow_begins[x] + 1, follow_begins[x + 1] do
    if not accept_present(i) then
      if known_before(i, accept_ids[i]) then accept_deduplicated = accept_deduplicated + 1 else new[#new + 1] = i end
    end
  end
  if not livelimit_memory and #new > 0 then return CODE_FULL end
  for _, i in ipairs(new) do
    local code = accept_message(i, accept_ids[i], ARGV[10 + 2 * i])
    if code ~= CODE_OK then return code end
  end
  return CODE_OK
end
-- follow_known(): whether all messages of the x-th receipt are known.
local function follow_known(x)
  for i = follow_begins[x] + 1, follow_begins[x + 1] do
    local key, repeats = ARGV[accept_keys + i], string.byte(ARGV[10 + 2 * i], 2) >= 128
    local declared = repeats and string.match(keys_holders[key] or '', '^%l', 28)
    if not (accept_present(i) or known_before(i, accept_ids[i]) or declared) then return false end
  end
  return true
end
