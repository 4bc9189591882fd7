-- Room for messages. most: how many there may be; live: how many there are. The dead do not count:
-- they must not keep others from being sent. memory: whether Redis has memory for more.
local room_most, room_live, room_memory = tonumber(partition_room) or math.huge, 0, true
if partition_room then room_live = redis.call('HLEN', KEYS[2]) - redis.call('ZCARD', KEYS[5]) end
