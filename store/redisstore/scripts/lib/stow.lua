-- For push and next: messages that are to be stored are accepted one after the other, then written.
local ids, put, old, sent, duplicates, deduplicated = {}, {}, {}, 0, 0, 0
-- look_up(): what there is that the messages could be, or be kept from the store by.
local function look_up()
  for i = 1, n do ids[i] = ARGV[8 + 2 * i] end
  old = existing(ids)
  load_known(ids, old)
  if more then load_owners(10 + 3 * n, n) end
end
local function accept(i, id, record)
  if due_of(i) > farthest then return TOO_FAR end
  local key, ttl, full = '', 0, live >= most
  if more then key, ttl = ARGV[9 + 3 * n + i], tonumber(ARGV[9 + 4 * n + i]) end
  if ttl > 0 and due_of(i) >= up + ttl then return EXPIRES end
  if full and key == '' then return FULL end
  local repeats = string.byte(record, 2) >= 128 and schedule(record) or nil
  if repeats then
    local holder = declare(key, record, due_of(i), repeats)
    if holder then return OK, holder end
  end
  if key ~= '' then
    local holder, room = seize(key, ARGV[9 + 5 * n + i] == '1')
    if full and room ~= 1 then return FULL end -- in the place of another it takes none
    if holder then return DUPLICATE, holder end
    live = live - room
    take(key, id, ttl, repeats)
  end
  if ttl > 0 then record = expiring(record, up + ttl) end
  state[id], live, sent = record, live + 1, sent + 1
  put[#put + 1] = i
  watch(i, id)
  return OK
end
-- present(): the record that the i-th message's id has, if it has one.
local function present(i)
  local was = state[ids[i]]
  if was == nil then return old[i] end
  return was
end
-- stow(): brief are those that others of this call have replaced.
local function stow()
  local brief = {}
  for _, i in ipairs(put) do
    if not state[ids[i]] then brief[#brief + 1] = ids[i] end
    write(ids[i], due_of(i))
  end
  for _, id in ipairs(declared) do write(id) end
  if #records > 0 then
    grow(tonumber(ARGV[8]))
    redis.call('HSET', KEYS[2], unpack(records))
  end
  keep_watch()
  revise()
  evict(records)
  if windows and #brief > 0 then retire(brief) end
  if #scores > 0 then redis.call('ZADD', KEYS[4], unpack(scores)) end
end
