-- The fields of a queue's settings beside layout, version, partitions and changed_by, in the
-- order in which they are passed. Where one is 0 or empty, it can be left out.
local settings_names = {
  'max_body', 'max_messages', 'paused', 'dead_retention', 'max_dead', 'history', 'max_history',
  'max_attempts', 'lease', 'backoff_base', 'backoff_most', 'dedup_for', 'from', 'drained', 'deleting'
}
local SETTINGS_FROM = 13 -- the index of from
