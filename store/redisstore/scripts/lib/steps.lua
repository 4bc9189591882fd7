-- For calls on many items that a caller numbers. One that would copy too many records is done
-- in steps; what is remembered is how many items are done, and the answer so far. from: how many
-- items were done in the steps before.
local steps_caller, steps_number, steps_from = 'm:' .. ARGV[3], ARGV[4], tonumber(ARGV[5])
-- steps_repeated(): the reply if this step was made before, or the call is older than the caller's
-- last. Else the answer so far begins this step's.
local function steps_repeated()
  local memory, stale = calls_recall(steps_caller, steps_number)
  if stale then return {-2, ''} end
  if not memory then return nil end
  local done, text = string.match(memory, '^(%d+) (.*)$')
  if tonumber(done) > steps_from then return {tonumber(done), text} end
  if text ~= '' then answer_exceptions[1] = text end
end
-- steps_finish(): remembers and returns the reply, after a write that Redis allows at maxmemory.
local function steps_finish(done, text)
  redis.call('ZREM', KEYS[3], '-')
  calls_remember(steps_caller, steps_number, (steps_from + done) .. ' ' .. text)
  return {steps_from + done, text}
end
