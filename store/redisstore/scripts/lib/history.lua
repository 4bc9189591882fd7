-- Histories and cancel requests, of messages that have one.
local function history_read(ids)
  if partition_tried == 0 or #ids == 0 then return {} end
  return redis.call('HMGET', KEYS[1], unpack(fields_of('h:', ids)))
end
local function history_cancels(ids)
  if partition_stops == 0 or #ids == 0 then return {} end
  return redis.call('HMGET', KEYS[1], unpack(fields_of('x:', ids)))
end
-- history_parse(): deliveries, failures, how the last delivery ended; doubt, the suspicion: 'u'
-- when a lease ran out and whether its handler had started is unknown, 'c' when it had;
-- whether the handler of the delivery that is under way has started; snoozes; and earlier,
-- the deliveries of earlier occurrences.
local function history_parse(h)
  if not h then return 0, 0, '', '', false, 0, 0 end
  local d, e, f, z, how, doubt, begun = string.match(h, '^(%d+)%.?(%d*) (%d+)%.?(%d*) (%S)([uc]?)(s?)$')
  return tonumber(d) or 0, tonumber(f) or 0, how or '', doubt or '', begun == 's', tonumber(z) or 0, tonumber(e) or 0
end
-- history_counts(): two counts as one text: the second, behind a point, only if it is not 0.
local function history_counts(n, more)
  return more > 0 and n .. '.' .. more or n
end
