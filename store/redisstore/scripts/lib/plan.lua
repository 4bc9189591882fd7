-- Collects what becomes of leased messages. settle() writes it: what is added, then what
-- is removed. Its first write is one that Redis allows at maxmemory, so the rest is too.
-- blank: ids and records to be written; free: fields of side to be removed.
local due, dead, blank, notes, ended, gone, free = {}, {}, {}, {}, {}, {}, {}
local earliest, fresh = math.huge, 0
local lay, shelve, shed -- of done.lua and shed.lua, where done messages are kept
-- note(): the history of a message after h; snoozed: 1 when a snooze is added.
local function note(id, h, deliveries, failures, how, text, snoozed)
  local _, _, _, _, _, snoozes, earlier = past(h)
  if not h then fresh = fresh + 1 end
  notes[#notes + 1], notes[#notes + 2] = 'h:' .. id, counted(deliveries, earlier) .. ' ' .. counted(failures, snoozes + (snoozed or 0)) .. ' ' .. how
  if text ~= '' then notes[#notes + 1], notes[#notes + 2] = 'f:' .. id, text end
end
local function again(id, at)
  due[#due + 1], due[#due + 2] = digits(at), id
  earliest = math.min(earliest, at)
end
local function unkey(key)
  if key and key ~= '' then free[#free + 1] = 'k:' .. key end
end
-- leave(): a message ends, see lay() of done.lua. gone: the ids of those that do.
local function leave(id, record, key, h, how, deliveries)
  gone[#gone + 1] = id
  unkey(key)
  if lay then lay(id, record, h, how, deliveries) end
end
local function settle()
  redis.call('ZREM', KEYS[3], '-')
  if #blank > 0 then redis.call('HSET', KEYS[2], unpack(blank)) end
  if #due > 0 then redis.call('ZADD', KEYS[4], unpack(due)) end
  if #notes > 0 then redis.call('HSET', KEYS[1], unpack(notes)) end
  if fresh > 0 then redis.call('HINCRBY', KEYS[1], 'tried', fresh) end
  if lay then shelve() end
  if #ended > 0 then redis.call('ZREM', KEYS[3], unpack(ended)) end
  forget(gone, free)
  tried, fresh = tried + fresh, 0
  due, blank, notes, ended, gone, free = {}, {}, {}, {}, {}, {}
end
