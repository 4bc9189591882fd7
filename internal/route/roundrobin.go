package route

import (
	"sync"
	"sync/atomic"
)

// RoundRobin chooses the partition of the next message without a key: round-robin, except that
// concurrent sends share a partition, so that they can be batched, and that partitions to avoid are
// left out as long as there are others. The zero RoundRobin is ready to use.
type RoundRobin struct {
	Avoid   func(partition int) bool // nil: none is avoided
	sending atomic.Int64

	mu        sync.Mutex
	partition int
	left      int64 // messages that still go to that partition
}

const (
	// concurrentCalls is the number of calls into which the messages of concurrent sends are divided:
	// while one call is in flight, the next collects messages.
	concurrentCalls = 2
	// rounds is how many times as many messages as there are concurrent sends go to a partition in a
	// row, up to enough. The first message for another partition finds no call in flight there, so it
	// is sent alone, and until those for the partition before are stored, two calls share the sends.
	rounds = 4
	enough = 500
)

// inARow returns how many messages go to a partition before one goes to the next, while a number of
// sends are in flight.
func inARow(sending int64) int64 {
	if sending < 2 {
		return 1
	}
	return max(sending/concurrentCalls, min(sending*rounds, enough))
}

// Begin counts a send as in flight.
func (r *RoundRobin) Begin() { r.sending.Add(1) }

// End counts a send as finished.
func (r *RoundRobin) End() { r.sending.Add(-1) }

// Next returns the partition of a message.
func (r *RoundRobin) Next(partitions int) int {
	if partitions == 1 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left <= 0 || r.partition >= partitions {
		r.partition = r.following(partitions)
		r.left = inARow(r.sending.Load())
	}
	r.left--
	return r.partition
}

// following returns the next partition that is not to be avoided or, if all are, the next.
func (r *RoundRobin) following(partitions int) int {
	for i := range partitions {
		if next := (r.partition + 1 + i) % partitions; r.Avoid == nil || !r.Avoid(next) {
			return next
		}
	}
	return (r.partition + 1) % partitions
}
