-- largest_note(): notes the length of a record, as a power of two, so that it is seldom
-- written. A short one is not noted.
local LARGEST_SHORT = 2048
local function largest_note(longest)
  local noted = tonumber(partition_largest) or LARGEST_SHORT
  local largest = noted
  while largest < longest do largest = largest * 2 end
  if largest > noted then redis.call('HSET', KEYS[1], 'largest', largest) end
end
