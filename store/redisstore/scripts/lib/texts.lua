-- The failure texts of a message's last deliveries: "ms attempt size text" of each, one behind the other, the
-- newest first. The newest text is whole, the others are cut to TEXTS_OLDER bytes and no part of a character.
local TEXTS_MOST, TEXTS_OLDER = 5, 200
-- texts_next(): the delivery that begins at from: its time, its number, and where its text begins and ends.
local function texts_next(texts, from)
  local at, attempt, size, start = string.match(texts, '^(%d+) (%d+) (%d+) ()', from)
  if at and start + size - 1 <= #texts then return at, attempt, start, start + size - 1 end
end
-- texts_whole(): whether all of it can be read.
local function texts_whole(texts)
  local from = 1
  while from <= #texts do
    local at, _, _, stop = texts_next(texts, from)
    if not at then return false end
    from = stop + 1
  end
  return true
end
-- texts_with(): the texts with one more, the newest. texts: those of before, or nothing; at: the time.
local function texts_with(texts, at, attempt, text)
  local all, from = {string.format('%d %d %d ', at, attempt, #text) .. text}, 1
  while texts and #all < TEXTS_MOST do
    local time, number, start, stop = texts_next(texts, from)
    if not time then break end
    from = stop + 1
    if stop - start >= TEXTS_OLDER then
      stop = start + TEXTS_OLDER - 1
      while stop >= start and string.find(texts, '^[\128-\191]', stop + 1) do stop = stop - 1 end
    end
    all[#all + 1] = time .. ' ' .. number .. ' ' .. stop - start + 1 .. ' ' .. string.sub(texts, start, stop)
  end
  return table.concat(all)
end
