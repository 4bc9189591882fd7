-- Looks up the receipts ARGV[first] to ARGV[last]. at: the indexes of the leased ones,
-- each receipt once; ids: their messages; recs: records by id, of which is needed: 'all',
-- 'keyed' or 'none'; late: the indexes of the others; last: how far fetch's budget let it get.
local function held_receipts(first, last, need)
  local held = redis.call('ZMSCORE', KEYS[3], unpack(ARGV, first, last))
  local at, ids, late, seen, want, index = {}, {}, {}, {}, {}, {}
  for i = first, last do
    local r = ARGV[i]
    if held[i - first + 1] and not seen[r] then
      seen[r] = true
      at[#at + 1], ids[#ids + 1] = i, string.sub(r, 1, 26)
      if need == 'all' or need == 'keyed' and string.byte(r, -1) == 107 then
        want[#want + 1], index[#index + 1] = ids[#ids], i
      end
    else
      late[#late + 1] = i
    end
  end
  local got, n = fetch_records(want)
  local recs = {}
  for i = 1, n do recs[want[i]] = got[i] end
  if n < #want then last = index[n + 1] - 1 end
  while at[#at] and at[#at] > last do at[#at], ids[#ids] = nil, nil end
  while late[#late] and late[#late] > last do late[#late] = nil end
  return at, ids, recs, late, last
end
