-- Reads what every script must know of a partition. s[1] is false when there is none.
-- tried: how many messages have a history; stops: how many have a cancel request. While
-- they are 0, no message has one, and nobody needs to look. s[6]: no record is longer;
-- missing while none is longer than 2048 bytes. s[8]: for how long and how many dead
-- messages are kept; false where there is no limit. windows: see retire; missing while
-- nothing is or will be remembered, and nobody needs to look. s[10]: as s[8] of done messages;
-- false where there are none, '0 0' while those of before are being removed. keeps: whether a
-- message that ends is kept.
local s = redis.call('HMGET', KEYS[1], 'layout', 'tried', 'stops', 'paused', 'room', 'largest', 'version', 'keep', 'windows', 'done')
if s[1] and s[1] ~= '1' then return redis.error_reply('LAYOUT ' .. s[1]) end
local tried, stops = tonumber(s[2]) or 0, tonumber(s[3]) or 0
local windows, keeps = s[9], s[10] and s[10] ~= '0 0'
