-- For push and next: messages that have one of the ids already.
local function existing_same(a, b)
  return #a == #b and string.sub(a, 1, 3) == string.sub(b, 1, 3) and string.sub(a, 10) == string.sub(b, 10)
end
-- existing_records(): the records that have one of the ids now. Where many could be long, only those
-- are read that are as long as the message: others are not the same.
local function existing_records(ids)
  if batch_size * (tonumber(partition_largest) or LARGEST_SHORT) <= 1048576 then
    return redis.call('HMGET', KEYS[2], unpack(ids))
  end
  local old = {}
  for i = 1, batch_size do
    local size = redis.call('HSTRLEN', KEYS[2], ids[i])
    old[i] = size > 0 and (size == #ARGV[10 + 2 * i] and redis.call('HGET', KEYS[2], ids[i]) or '')
  end
  return old
end
