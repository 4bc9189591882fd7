-- grow(): notes the length of a record, as a power of two, so that it is seldom
-- written. A short one is not noted.
local SHORT = 2048
local function grow(longest)
  local noted = tonumber(s[6]) or SHORT
  local largest = noted
  while largest < longest do largest = largest * 2 end
  if largest > noted then redis.call('HSET', KEYS[1], 'largest', largest) end
end
