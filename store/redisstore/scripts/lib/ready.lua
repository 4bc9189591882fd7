-- ready_messages(): the first messages that are due, up to most of them, and their due times as
-- text, each at the index of the first message that has it. Redis takes longer to write a
-- score than for all else it does to a message here, so it is asked once for all that
-- became due in the same millisecond, while they are many.
local function ready_messages(most)
  local many, ids, dues, n, from = 8, {}, {}, 0, '-inf'
  while most - n >= many do
    local due = redis.call('ZRANGE', KEYS[4], n, n, 'WITHSCORES')[2]
    if not due or tonumber(due) > clock_now then return ids, dues end
    local run = redis.call('ZRANGEBYSCORE', KEYS[4], due, due, 'LIMIT', 0, most - n)
    dues[n + 1] = due
    if n == 0 then
      ids = run
    else
      for i = 1, #run do ids[n + i] = run[i] end
    end
    n, from = n + #run, '(' .. due
    if #run < many then break end
  end
  if n == most then return ids, dues end
  local rest = redis.call('ZRANGEBYSCORE', KEYS[4], from, clock_now, 'WITHSCORES', 'LIMIT', 0, most - n)
  for i = 1, #rest, 2 do
    n = n + 1
    ids[n], dues[n] = rest[i], rest[i + 1]
  end
  return ids, dues
end
