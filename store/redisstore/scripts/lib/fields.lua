-- The names of fields: a prefix before each of some ids or keys.
local function fields_of(prefix, ids)
  local out = {}
  for i = 1, #ids do out[i] = prefix .. ids[i] end
  return out
end
