-- What every script must know of a partition.
-- layout: false when there is no partition.
-- tried: how many messages have a history; stops: how many have a cancel request. While a count
-- is 0, no message has one, and none is looked for.
-- max_live: how many live messages there may be; false: no limit.
-- largest: no record is longer; false while none is longer than 2048 bytes.
-- dead_limits: for how long, and how many, dead messages are kept; false: no limit.
-- done_limits: the same of done messages; false where there are none, '0 0' while those of before
-- are being removed. keeps_done: whether a message that ends is kept.
-- windows: see remembered.lua; false while nothing is or will be remembered.
local partition_layout, partition_tried, partition_stops, partition_paused, partition_max_live,
  partition_largest, partition_version, partition_dead_limits, partition_windows, partition_done_limits =
  unpack(redis.call('HMGET', KEYS[1],
    'layout', 'tried', 'stops', 'paused', 'max_live', 'largest', 'version', 'keep', 'windows', 'done'))
if partition_layout and partition_layout ~= '1' then return redis.error_reply('LAYOUT ' .. partition_layout) end
partition_tried, partition_stops = tonumber(partition_tried) or 0, tonumber(partition_stops) or 0
partition_paused = partition_paused == '1'
local partition_keeps_done = partition_done_limits and partition_done_limits ~= '0 0'
