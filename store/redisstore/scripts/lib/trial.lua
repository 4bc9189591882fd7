-- For next, when all has been looked up: what a delivery's messages change is kept apart until it
-- is known that none of them is refused. trial_begin(): of the
-- next delivery. trial_keep() makes it final, trial_undo() drops it. trial_end(): to be called when
-- all have been decided on.
local trial_bases, trial_ends, trial_counts = {}, {}, {}
local trial_lists = {accept_indexes, keys_evicted, declare_ids, declare_histories, declare_texts, known_fields}
local function trial_above(base)
  local top = setmetatable({}, {__index = base})
  trial_bases[top] = base
  return top
end
staged_records, keys_holders, keys_taken, staged_older =
  trial_above(staged_records), trial_above(keys_holders), trial_above(keys_taken), trial_above(staged_older)
known_spans, known_dedup, declare_dues = trial_above(known_spans), trial_above(known_dedup), trial_above(declare_dues)
local function trial_begin()
  for i, list in ipairs(trial_lists) do trial_ends[i] = #list end
  trial_counts = {livelimit_live, accept_sent, accept_deduplicated, keys_expired, keys_replaced}
end
local function trial_keep()
  for top, base in pairs(trial_bases) do
    for k, v in pairs(top) do base[k], top[k] = v, nil end
  end
end
local function trial_undo()
  for top in pairs(trial_bases) do
    for k in pairs(top) do top[k] = nil end
  end
  for i, list in ipairs(trial_lists) do
    for j = #list, trial_ends[i] + 1, -1 do list[j] = nil end
  end
  livelimit_live, accept_sent, accept_deduplicated, keys_expired, keys_replaced = unpack(trial_counts)
end
local function trial_end()
  staged_records, keys_holders, keys_taken, staged_older =
    trial_bases[staged_records], trial_bases[keys_holders], trial_bases[keys_taken], trial_bases[staged_older]
  known_spans, known_dedup, declare_dues = trial_bases[known_spans], trial_bases[known_dedup], trial_bases[declare_dues]
end
