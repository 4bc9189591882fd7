-- Removes records, histories and cancel requests, and frees keys ('k:' and the key). What is
-- to be remembered begins to be.
local function remove_messages(ids, keys)
  if #keys > 0 then redis.call('HDEL', KEYS[1], unpack(keys)) end
  if #ids == 0 then return end
  redis.call('HDEL', KEYS[2], unpack(ids))
  if partition_tried > 0 then
    local n = redis.call('HDEL', KEYS[1], unpack(fields_of('h:', ids)))
    if n > 0 then
      redis.call('HINCRBY', KEYS[1], 'tried', -n)
      redis.call('HDEL', KEYS[1], unpack(fields_of('f:', ids)))
    end
  end
  if partition_stops > 0 then
    local n = redis.call('HDEL', KEYS[1], unpack(fields_of('x:', ids)))
    if n > 0 then redis.call('HINCRBY', KEYS[1], 'stops', -n) end
  end
  if partition_windows then remembered_retire(ids) end
end
