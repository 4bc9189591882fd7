-- Removes records, histories and cancel requests, and frees keys ('k:' and the key). What is
-- to be remembered begins to be.
local function forget(ids, keys)
  if #keys > 0 then redis.call('HDEL', KEYS[1], unpack(keys)) end
  if #ids == 0 then return end
  redis.call('HDEL', KEYS[2], unpack(ids))
  if tried > 0 then
    local n = redis.call('HDEL', KEYS[1], unpack(prefixed('h:', ids)))
    if n > 0 then
      redis.call('HINCRBY', KEYS[1], 'tried', -n)
      redis.call('HDEL', KEYS[1], unpack(prefixed('f:', ids)))
    end
  end
  if stops > 0 then
    local n = redis.call('HDEL', KEYS[1], unpack(prefixed('x:', ids)))
    if n > 0 then redis.call('HINCRBY', KEYS[1], 'stops', -n) end
  end
  if windows then retire(ids) end
end
