-- For next, when all has been looked up: what a delivery's messages change is kept apart until it
-- is known that none of them is refused. begin(): of the next delivery. keep() makes it final, undo() drops it. over():
-- to be called when all have been decided on.
local bases, ends, counts = {}, {}, {}
local lists = {put, evicted, declared, resets, texts, watched}
local function above(base)
  local top = setmetatable({}, {__index = base})
  bases[top] = base
  return top
end
state, owner, taken, older = above(state), above(owner), above(taken), above(older)
spans, named, dues = above(spans), above(named), above(dues)
local function begin()
  for i, list in ipairs(lists) do ends[i] = #list end
  counts = {live, sent, deduplicated, expired, replaced}
end
local function keep()
  for top, base in pairs(bases) do
    for k, v in pairs(top) do base[k], top[k] = v, nil end
  end
end
local function undo()
  for top in pairs(bases) do
    for k in pairs(top) do top[k] = nil end
  end
  for i, list in ipairs(lists) do
    for j = #list, ends[i] + 1, -1 do list[j] = nil end
  end
  live, sent, deduplicated, expired, replaced = unpack(counts)
end
local function over()
  state, owner, taken, older = bases[state], bases[owner], bases[taken], bases[older]
  spans, named, dues = bases[spans], bases[named], bases[dues]
end
