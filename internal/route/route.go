// Package route chooses the partition of a message, and makes ids that contain it.
package route

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"

	"github.com/dueq-dev/dueq/store"
)

// ByKey returns the partition of a keyed message: always the same one, so that one script can
// check whether the key is in use.
func ByKey(key string, partitions int) int { return jump(xxhash.Sum64String(key), partitions) }

// jump is a jump consistent hash (Lamping and Veach, https://arxiv.org/abs/1406.2294): when a queue
// grows from n to m partitions, only the share (m-n)/m of the hashes gets another partition, and all
// of these a new one.
func jump(hash uint64, partitions int) int {
	const multiplier = 2862933555777941757
	last, next := -1, 0
	for next < partitions {
		last = next
		hash = hash*multiplier + 1
		next = int(float64(last+1) * (float64(1<<31) / float64(hash>>33+1)))
	}
	return last
}

// ByNames returns the partition that the key of a message, or else its dedup id, belongs to;
// ok is false if it has neither.
func ByNames(m *store.Message, partitions int) (ok bool, partition int) {
	switch {
	case m.Key != "":
		return true, ByKey(m.Key, partitions)
	case !m.DedupID.IsZero():
		return true, jump(binary.BigEndian.Uint64(m.DedupID[:]), partitions)
	}
	return false, 0
}

// Moves reports whether a message with a key or dedup id belongs to another partition since a queue
// has grown from one number of partitions to another; from 0: it has not.
func Moves(m *store.Message, from, to int) bool {
	if from == 0 {
		return false
	}
	named, before := ByNames(m, from)
	_, now := ByNames(m, to)
	return named && before != now
}

// NewID returns a fresh id of the given partition. Ids of one process are strictly increasing:
// the UUID library guarantees that for their first 80 bits.
func NewID(partition int) store.ID { return inPartition(uuid.Must(uuid.NewV7()), partition) }

// IDs makes ids as NewID does, at less cost per id if many are made. The zero IDs is ready to
// use; it is safe for concurrent use.
type IDs struct{ random randomness }

// New returns a fresh id of the given partition.
func (i *IDs) New(partition int) store.ID {
	return inPartition(uuid.Must(uuid.NewV7FromReader(&i.random)), partition)
}

// InPartition returns an id that has all of id but its partition.
func InPartition(id store.ID, partition int) store.ID { return inPartition(uuid.UUID(id), partition) }

func inPartition(made uuid.UUID, partition int) store.ID {
	id := store.ID(made)
	binary.BigEndian.PutUint16(id[len(id)-2:], uint16(partition))
	return id
}

// randomness is crypto/rand.Reader, read in larger pieces: a read for each id would cost as much
// as the rest of making it.
type randomness struct {
	mu    sync.Mutex
	piece [512]byte
	left  int // bytes at the end of piece that were not handed out
}

// Read implements io.Reader for at most len(r.piece) bytes at a time.
func (r *randomness) Read(into []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left < len(into) {
		_, _ = rand.Read(r.piece[:]) // never fails
		r.left = len(r.piece)
	}
	n := copy(into, r.piece[len(r.piece)-r.left:])
	r.left -= n
	return n, nil
}

// FollowingID returns the id of the index-th message that follows an occurrence of the message
// parent. Equal arguments give equal ids. The id has the time of the parent's id and the given
// partition.
func FollowingID(parent store.ID, occurrence int64, index, partition int) store.ID {
	const timeBytes, version, variant = 6, 0x70, 0x80
	var seed [len(parent) + 16]byte
	copy(seed[:], parent[:])
	binary.BigEndian.PutUint64(seed[len(parent):], uint64(occurrence))
	binary.BigEndian.PutUint64(seed[len(parent)+8:], uint64(index))
	hash := sha256.Sum256(seed[:])
	id := parent
	copy(id[timeBytes:], hash[:])
	id[6] = id[6]&0x0f | version
	id[8] = id[8]&0x3f | variant
	binary.BigEndian.PutUint16(id[len(id)-2:], uint16(partition))
	return id
}
