-- For push and next: messages that are to be stored are accepted one after the other, then written.
local accept_ids, accept_indexes, accept_existing = {}, {}, {}
local accept_sent, accept_duplicates, accept_deduplicated = 0, 0, 0
-- Where keys, TTLs and whether to replace are in ARGV.
local accept_keys, accept_ttls = batch_dues + batch_size, batch_dues + 2 * batch_size
local accept_replaces = batch_dues + 3 * batch_size
-- accept_load(): reads the records and keys that decide whether messages are stored.
local function accept_load()
  for i = 1, batch_size do accept_ids[i] = ARGV[9 + 2 * i] end
  accept_existing = existing_records(accept_ids)
  known_load(accept_ids, accept_existing)
  if batch_keyed then keys_load(accept_keys + 1, batch_size) end
end
-- accept_message(): the code of the i-th message and, for some codes, the id of the message that has its key.
local function accept_message(i, id, record)
  if batch_due(i) > batch_farthest then return CODE_TOO_FAR end
  local key, ttl, full = '', 0, livelimit_live >= livelimit_most
  if batch_keyed then key, ttl = ARGV[accept_keys + i], tonumber(ARGV[accept_ttls + i]) end
  if ttl > 0 and batch_due(i) >= clock_up + ttl then return CODE_EXPIRES end
  -- 2 and 3: only in the place of the message that has the key, and 3 replaces that.
  local how = batch_keyed and ARGV[accept_replaces + i] or '0'
  local only = how == '2' or how == '3'
  if key == '' and (only or full) then return only and CODE_MOVED or CODE_FULL end
  local repeats = string.byte(record, 2) >= 128 and schedule_of(record) or nil
  if repeats then
    local holder = declare_message(key, record, batch_due(i), repeats)
    if holder then return CODE_OK, holder end
  end
  if key ~= '' then
    local holder, freed = keys_seize(key, how == '1' or how == '3')
    if only and not holder and freed == 0 then return CODE_MOVED end
    if full and freed ~= 1 then return CODE_FULL end -- one that replaces another adds none
    if holder then return CODE_DUPLICATE, holder end
    livelimit_live = livelimit_live - freed
    keys_take(key, id, ttl, repeats)
  end
  if ttl > 0 then record = expiry_set(record, clock_up + ttl) end
  staged_records[id], livelimit_live, accept_sent = record, livelimit_live + 1, accept_sent + 1
  accept_indexes[#accept_indexes + 1] = i
  known_add(i, id)
  return CODE_OK
end
-- accept_present(): the record that the i-th message's id has, if it has one.
local function accept_present(i)
  local was = staged_records[accept_ids[i]]
  if was == nil then return accept_existing[i] end
  return was
end
-- The records to be written, and their due times; a declared message can have another due time, or none
-- while it is leased.
local accept_records, accept_scores = {}, {}
local function accept_add(id, due)
  due = declare_dues[id] or due
  if not staged_records[id] then return end
  accept_records[#accept_records + 1], accept_records[#accept_records + 2] = id, staged_records[id]
  if not due then return end
  accept_scores[#accept_scores + 1], accept_scores[#accept_scores + 2] = instant_text(due), id
  batch_earliest = math.min(batch_earliest, due)
end
-- accept_write(): writes the records and due times. brief: messages that others of this call have replaced.
local function accept_write()
  local brief = {}
  for _, i in ipairs(accept_indexes) do
    if not staged_records[accept_ids[i]] then brief[#brief + 1] = accept_ids[i] end
    accept_add(accept_ids[i], batch_due(i))
  end
  for _, id in ipairs(declare_ids) do accept_add(id) end
  if #accept_records > 0 then
    largest_note(tonumber(ARGV[6]))
    redis.call('HSET', KEYS[2], unpack(accept_records))
  end
  known_write()
  declare_write()
  keys_write(accept_records)
  if partition_windows and #brief > 0 then remembered_retire(brief) end
  if #accept_scores > 0 then redis.call('ZADD', KEYS[4], unpack(accept_scores)) end
end
