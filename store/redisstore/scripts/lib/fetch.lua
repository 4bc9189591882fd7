-- Reads records, 16 at a time, and stops when it has read BUDGET bytes: a script never
-- copies much more than that and 16 records. Returns them, how many ids it got to, and
-- the bytes.
local BUDGET = 1048576
local function fetch(ids)
  local got, n, bytes = {}, 0, 0
  while n < #ids and bytes < BUDGET do
    local part = redis.call('HMGET', KEYS[2], unpack(ids, n + 1, math.min(n + 16, #ids)))
    for i = 1, #part do
      local record = part[i]
      n = n + 1
      got[n] = record
      if record then bytes = bytes + #record end
    end
  end
  return got, n, bytes
end
