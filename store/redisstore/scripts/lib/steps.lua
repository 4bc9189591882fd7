-- For calls on many items that a caller numbers. One that would copy too many records is done
-- in steps; what is remembered is how many items are done, and what came of them.
local from, odd = tonumber(ARGV[5]), {}
-- before(): the answer if this step was made before, or the call is older than the caller's
-- last.
local function before()
  local answer, stale = recall('m:' .. ARGV[3], ARGV[4])
  if stale then return {-2, ''} end
  if not answer then return nil end
  local done, text = string.match(answer, '^(%d+) (.*)$')
  if tonumber(done) > from then return {tonumber(done), text} end
  if text ~= '' then odd[1] = text end
end
local function say(index, code, holder)
  if code ~= OK then odd[#odd + 1] = (from + index) .. ':' .. code .. (holder and ':' .. holder or '') end
end
-- finish(): remembers and returns the answer, after a write that Redis allows at maxmemory.
local function finish(done, text)
  redis.call('ZREM', KEYS[3], '-')
  remember('m:' .. ARGV[3], ARGV[4], (from + done) .. ' ' .. text)
  return {from + done, text}
end
