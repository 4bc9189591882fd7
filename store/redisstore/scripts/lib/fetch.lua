-- Reads records until this script has read BUDGET bytes, as many at a time as cannot be more
-- than a quarter of that: a script copies 1.25 times BUDGET at most, or BUDGET and one
-- larger record. Returns them, and how many ids it got to: at least one while copied is
-- below BUDGET. read, if given, reads them in place of HMGET on msg.
local fetch_budget = 1048576
local fetch_copied = 0
local FETCH_STEP = math.max(1, math.floor(fetch_budget / 4 / (tonumber(partition_largest) or 2048)))
local function fetch_records(ids, read)
  local got, n = {}, 0
  while n < #ids and fetch_copied < fetch_budget do
    local to = math.min(n + FETCH_STEP, #ids)
    local part = read and read(ids, n + 1, to) or redis.call('HMGET', KEYS[2], unpack(ids, n + 1, to))
    for i = 1, #part do
      local record = part[i]
      n = n + 1
      got[n] = record
      if record then fetch_copied = fetch_copied + #record end
    end
  end
  return got, n
end
