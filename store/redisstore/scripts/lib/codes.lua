-- What became of an item: the numbers of store.Code.
local OK, DUPLICATE, CONFLICT, FULL, TOO_FAR, STALE = 0, 1, 2, 3, 4, 5
local NOT_FOUND, RUNNING, DEAD, GONE, LEASE_LOST, CANCELLED, EXPIRES, CHANGED, KNOWN = 6, 7, 8, 9, 10, 11, 12, 13, 14
