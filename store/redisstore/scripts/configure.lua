-- PURPOSE makes a partition if it is missing, and gives it its queue's settings
-- TRANSITION none
-- KEYS[1] side hash
-- KEYS[2] msg hash
-- KEYS[3] leased zset
-- KEYS[4] due zset
-- KEYS[5] dead zset
-- KEYS[6] calls hash
-- KEYS[7] done zset
-- KEYS[8] past hash
-- ARGV[1] channel | text | - | PFX:{q}:events
-- ARGV[2] wake | text | - | "wake p"
-- ARGV[3] version | int | ms | of the settings; older ones than the partition has are refused
-- ARGV[4] partitions | int | - | 1 to 1024
-- ARGV[5] changed_by | text | - | the token of the change that made them, can be empty
-- ARGV[6] max_live | int | messages | how many live messages the partition holds at most; 0: no limit
-- ARGV[7] keep | text | - | "ms n": for how long and how many dead messages are kept, 0: no limit; empty: neither is limited
-- ARGV[8] done | text | - | "ms n": for how long and how many done messages are kept; empty: none are
-- ARGV[9...] what lib/settings.lua lists | text | - | -
-- RETURNS {} when they were taken over, or those that the partition has, which are later: {layout, version, partitions, changed_by, then what lib/settings.lua lists}
-- CODES -
-- COST O(1); at most 18 redis.calls
-- RETRY safe: a repetition sets the same
-- EMITS wake, when the partition is no longer paused, or the queue has another number of partitions
-- USES partition create settings
if (tonumber(partition_version) or 0) > tonumber(ARGV[3]) then
  return redis.call('HMGET', KEYS[1], 'layout', 'version', 'partitions', 'changed_by', unpack(settings_names))
end
local partitions = redis.call('HGET', KEYS[1], 'partitions')
redis.call('ZREM', KEYS[3], '-')
if not partition_layout then create_partition() end
local set, clear, paused = {'version', ARGV[3], 'partitions', ARGV[4]}, {'-'}, false
local function put(name, value)
  if value == '' or value == '0' then
    clear[#clear + 1] = name
  else
    set[#set + 1] = name
    set[#set + 1] = value
    paused = paused or name == 'paused'
  end
end
put('changed_by', ARGV[5])
put('max_live', ARGV[6])
put('keep', ARGV[7])
put('done', ARGV[8] == '' and partition_done_limits and '0 0' or ARGV[8])
for i = 1, #settings_names do put(settings_names[i], ARGV[8 + i]) end
redis.call('HSET', KEYS[1], unpack(set))
redis.call('HDEL', KEYS[1], unpack(clear))
if partition_paused and not paused or partitions and partitions ~= ARGV[4] then
  redis.pcall('PUBLISH', ARGV[1], ARGV[2])
end
return {}
