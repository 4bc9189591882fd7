-- Clients and their consumers. members and trials have "queue consumer client" of the consumers that
-- have joined and of those on trial, byclient "client queue consumer" of both, all with the score 0, so
-- that they are in the order of their texts; a blank sorts before every character of a name, and '!'
-- is the next one after it. changes has the version at which the consumers of a queue have last
-- changed; '' has the highest version.
local clients_touched = {}
local function clients_join(client, queue, consumer, trial)
  local text = queue .. ' ' .. consumer .. ' ' .. client
  redis.call('ZADD', KEYS[3], 0, client .. ' ' .. queue .. ' ' .. consumer)
  if trial then
    redis.call('ZADD', KEYS[6], 0, text)
  else
    if redis.call('ZADD', KEYS[2], 0, text) == 1 then clients_touched[queue] = true end
    redis.call('ZREM', KEYS[6], text)
  end
end
local function clients_leave(client, queue, consumer)
  local text = queue .. ' ' .. consumer .. ' ' .. client
  if redis.call('ZREM', KEYS[2], text) == 1 then clients_touched[queue] = true end
  redis.call('ZREM', KEYS[6], text)
  redis.call('ZREM', KEYS[3], client .. ' ' .. queue .. ' ' .. consumer)
end
-- clients_remove(): removes most consumers of a client, and the client when none are left. It returns
-- 1 when there are others.
local function clients_remove(client, most)
  local all = redis.call('ZRANGE', KEYS[3], '[' .. client .. ' ', '(' .. client .. '!', 'BYLEX', 'LIMIT', 0, most)
  for _, text in ipairs(all) do
    local queue, consumer = string.match(text, '^%S+ (%S+) (%S+)$')
    clients_leave(client, queue, consumer)
  end
  if #all == most then return 1 end
  redis.call('ZREM', KEYS[1], client)
  return 0
end
-- clients_changed(): enters the queues whose consumers have changed, and returns the version.
local function clients_changed()
  local version = tonumber(redis.call('ZSCORE', KEYS[4], '')) or 0
  if not next(clients_touched) then return version end
  version = math.max(version + 1, clock_now)
  for queue in pairs(clients_touched) do
    if redis.call('ZLEXCOUNT', KEYS[2], '[' .. queue .. ' ', '(' .. queue .. '!') > 0 then
      redis.call('ZADD', KEYS[4], version, queue)
    else
      redis.call('ZREM', KEYS[4], queue)
      redis.call('HDEL', KEYS[5], queue)
    end
  end
  redis.call('ZADD', KEYS[4], version, '')
  return version
end
