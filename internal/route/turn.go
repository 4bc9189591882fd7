package route

import (
	"sync"
	"sync/atomic"
)

// Turn chooses the partition of the next message without a key: round-robin, except that
// concurrent sends share a partition, so that they can be batched. The zero Turn is ready to
// use.
type Turn struct {
	sending atomic.Int64

	mu        sync.Mutex
	partition int
	left      int64 // messages that stay there
}

// callsOfACrowd is into how many calls those who send at the same time are divided:
// while the store works on one, the other can be filled.
const callsOfACrowd = 2

// Begin counts a send as under way.
func (t *Turn) Begin() { t.sending.Add(1) }

// End is called when the send is over.
func (t *Turn) End() { t.sending.Add(-1) }

// Next returns the partition of a message.
func (t *Turn) Next(partitions int) int {
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
