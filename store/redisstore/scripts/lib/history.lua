-- Histories and cancel requests, of messages that have one.
local function prefixed(prefix, ids)
  local out = {}
  for i = 1, #ids do out[i] = prefix .. ids[i] end
  return out
end
local function history(ids)
  if tried == 0 or #ids == 0 then return {} end
  return redis.call('HMGET', KEYS[1], unpack(prefixed('h:', ids)))
end
local function cancelling(ids)
  if stops == 0 or #ids == 0 then return {} end
  return redis.call('HMGET', KEYS[1], unpack(prefixed('x:', ids)))
end
-- past(h): deliveries, failures, how the last delivery ended; doubt, the suspicion: 'u'
-- when a lease ran out and whether its handler had started is unknown, 'c' when it had;
-- whether the handler of the delivery that is under way has started; snoozes; and earlier,
-- the deliveries of earlier occurrences.
local function past(h)
  if not h then return 0, 0, '', '', false, 0, 0 end
  local d, e, f, z, how, doubt, begun = string.match(h, '^(%d+)%.?(%d*) (%d+)%.?(%d*) (%S)([uc]?)(s?)$')
  return tonumber(d) or 0, tonumber(f) or 0, how or '', doubt or '', begun == 's', tonumber(z) or 0, tonumber(e) or 0
end
-- counted(): two counts as one text: the second, behind a point, only if it is not 0.
local function counted(n, more)
  return more > 0 and n .. '.' .. more or n
end
