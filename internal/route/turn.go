package dueq

import (
	"sync"
	"sync/atomic"
)

// turn chooses the partition of the next message without a key: round-robin, except that
// concurrent sends share a partition, so that they can be batched.
type turn struct {
	sending atomic.Int64 // calls of Send under way

	mu        sync.Mutex
	partition int
	left      int64 // messages that stay there
}

// callsOfACrowd is into how many calls those who send at the same time are divided:
// while the store works on one, the other can be filled.
const callsOfACrowd = 2

func (t *turn) next(partitions int) int {
	if partitions == 1 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left <= 0 || t.partition >= partitions {
		t.partition = (t.partition + 1) % partitions
		t.left = max(1, t.sending.Load()/callsOfACrowd)
	}
	t.left--
	return t.partition
}
