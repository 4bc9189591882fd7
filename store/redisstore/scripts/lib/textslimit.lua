-- textslimit_last(): how far a script gets that adds the texts from ARGV[first + beside] on to those of the
-- messages of ARGV[first] to ARGV[last]: until it may have copied BYTES. Those of a message that has failed
-- before take up to KEPT bytes; at most partition_tried messages have.
local TEXTSLIMIT_BYTES, TEXTSLIMIT_KEPT = 458752, 2048
local function textslimit_last(first, last, beside)
  local space, tried = TEXTSLIMIT_BYTES, partition_tried
  for i = first, last do
    local size = #ARGV[i + beside]
    if size > 0 then
      if tried > 0 then size, tried = size + TEXTSLIMIT_KEPT, tried - 1 end
      space = space - size
      if space < 0 then return i - 1 end
    end
  end
  return last
end
