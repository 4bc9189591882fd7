// Package route decides which partition a message belongs to, and mints ids that say so.
package route

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"

	"github.com/dueq-dev/dueq/store"
)

// ByKey returns the partition of a keyed message: always the same one, so that one
// script can see whether the key is taken.
func ByKey(key string, partitions int) int {
	return int(xxhash.Sum64String(key) % uint64(partitions))
}

// NewID returns a fresh id of the given partition. Ids of one process are strictly
// increasing: the library that makes the UUIDs holds the first 80 bits to that.
func NewID(partition int) store.ID {
	id := store.ID(uuid.Must(uuid.NewV7()))
	binary.BigEndian.PutUint16(id[len(id)-2:], uint16(partition))
	return id
}
