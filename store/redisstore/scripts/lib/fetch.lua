-- Reads records until this script has read BUDGET bytes, as many at a time as cannot be more
-- than a quarter of that: a script copies 1.25 times BUDGET at most, or BUDGET and one
-- larger record. Returns them, and how many ids it got to: at least one while copied is
-- below BUDGET. read, if given, reads them in place of HMGET on msg.
local BUDGET = 1048576
local copied = 0
local STEP = math.max(1, math.floor(BUDGET / 4 / (tonumber(s[6]) or 2048)))
local function fetch(ids, read)
  local got, n = {}, 0
  while n < #ids and copied < BUDGET do
    local to = math.min(n + STEP, #ids)
    local part = read and read(ids, n + 1, to) or redis.call('HMGET', KEYS[2], unpack(ids, n + 1, to))
    for i = 1, #part do
      local record = part[i]
      n = n + 1
      got[n] = record
      if record then copied = copied + #record end
    end
  end
  return got, n
end
