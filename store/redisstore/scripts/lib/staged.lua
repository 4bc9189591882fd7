-- For push and next: what the messages of this call leave.
-- records: of ids, as this call leaves them; false: removed. older: ids of messages that were there
-- before and have another record now, and whether they are 'due' or 'leased'.
local staged_records, staged_older = {}, {}
