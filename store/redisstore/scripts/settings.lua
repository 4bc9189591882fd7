-- PURPOSE changes the settings of a queue
-- TRANSITION none
-- KEYS[1] meta hash
-- ARGV[1] create | 1 or 0 | - | 1: make the queue if it is missing
-- ARGV[2] if | int | ms | the version that the change was made to; -1: there must be no queue; 0: any
-- ARGV[3] token | text | - | names the change; can be empty when ARGV[2] is 0
-- ARGV[4] partitions | int | - | 1 to 1024; a queue that has fewer grows to it; empty: as it is
-- ARGV[5] version | int | ms | of the latest settings that the caller has found elsewhere, which are taken over if they are later; 0: those of a new queue
-- ARGV[6] partitions of those | int | - | 1 to 1024
-- ARGV[7] changed_by of those | text | - | -
-- ARGV[8] deleted | int | ms | version that a partition got when the queue was deleted; 0: the caller has found none
-- ARGV[9...] what lib/settings.lua lists: first what the change makes of it (empty: as it is; of deleting, a span in ms), then what those have | text | - | -
-- RETURNS {status, version, partitions, changed_by, then what lib/settings.lua lists}: status 0 nothing changed, 1 changed, 2 made; {-1} no such queue; {-2, partitions} it has more partitions; {-5, from, partitions} it grows to another number already; {-3, version} it has another version; {-4} what the caller has found was deleted
-- CODES -
-- COST O(1); at most 6 redis.calls
-- RETRY safe: a repetition sets the same, or finds its token and changes nothing
-- EMITS -
-- USES clock instant settings
clock_read()
local m = redis.call('HMGET', KEYS[1], 'layout', 'version', 'partitions', 'changed_by', unpack(settings_names))
if m[1] and m[1] ~= '1' then return redis.error_reply('LAYOUT ' .. m[1]) end
local missing, status, version = not m[1], 0, tonumber(m[2]) or 0
if version < tonumber(ARGV[5]) or missing then
  if ARGV[5] == '0' and ARGV[1] ~= '1' then return {-1} end
  if ARGV[5] ~= '0' and version >= tonumber(ARGV[5]) then return {-4} end
  if ARGV[5] == '0' then
    status, version = 2, math.max(version, tonumber(ARGV[8]))
  else
    status, version = 1, tonumber(ARGV[5])
  end
  m = {'1', ARGV[5], ARGV[6], ARGV[7]}
  for i = 1, #settings_names do m[4 + i] = ARGV[8 + #settings_names + i] end
end
local again = false
if ARGV[2] ~= '0' and status ~= 2 and ARGV[2] ~= m[2] then
  again = m[4] == ARGV[3]
  if not again then return {-3, m[2]} end
end
local from = nil -- the number of partitions before, if it grows now
if not again and ARGV[4] ~= '' and ARGV[4] ~= m[3] then
  if tonumber(ARGV[4]) < tonumber(m[3]) then return {-2, m[3]} end
  local already = m[4 + SETTINGS_FROM]
  if already and already ~= '' and already ~= '0' then return {-5, already, m[3]} end
  from, m[3] = m[3], ARGV[4]
end
-- What was found elsewhere keeps its version: it is the same settings.
local changed, step = status == 2, 1
for i = 1, #settings_names do
  local to = ARGV[8 + i]
  if i == SETTINGS_FROM and from then to = from end
  m[4 + i] = m[4 + i] or '0'
  if settings_names[i] == 'deleting' and m[4 + i] ~= '0' then
    step = 2 -- the version between is that of what was removed already
    if to == '' and tonumber(m[4 + i]) <= clock_now then to = '0' end -- it was given up
  end
  if settings_names[i] == 'deleting' and to ~= '' and to ~= '0' then to = instant_text(clock_now + to) end
  if not again and to ~= '' and to ~= m[4 + i] then m[4 + i], changed = to, true end
end
m[4] = m[4] or ''
if changed then
  m[2], m[4], status = instant_text(math.max(version + step, clock_now)), ARGV[3], math.max(status, 1)
end
if status > 0 then
  local set = {'layout', '1', 'version', m[2], 'partitions', m[3], 'changed_by', m[4]}
  for i = 1, #settings_names do set[7 + 2 * i], set[8 + 2 * i] = settings_names[i], m[4 + i] end
  redis.call('HDEL', KEYS[1], '-', 'deleted')
  redis.call('HSET', KEYS[1], unpack(set))
  redis.call('HSETNX', KEYS[1], 'created', instant_text(clock_now))
  if missing then redis.call('PERSIST', KEYS[1]) end
end
m[1] = status
return m
