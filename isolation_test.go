package dueq_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// Partitions can be on different servers. These tests break some of a queue's partitions
// and hold that the others are served as if nothing had happened.

const (
	somePartitions = 6
	messagesOfEach = 300
)

// brokenOnes are the partitions that one of three servers has.
var brokenOnes = []int{0, 1}

// partitioned makes the queue with six partitions, and fills each with messages.
func (r *rig) partitioned() {
	r.Helper()
	_, err := r.direct.Configure(r.Context(), dueq.Change{Create: true, Partitions: new(somePartitions)})
	r.must(err)
	_, err = r.q.Configure(r.Context(), dueq.Change{})
	r.must(err)
	left := make([]int, somePartitions)
	for sent := 0; sent < somePartitions*messagesOfEach; {
		key := strconv.Itoa(sent)
		id, err := r.direct.Send(r.Context(), dueq.Message{Key: key})
		r.must(err)
		left[r.partitionOf(id)]++
		sent++
	}
	if slices.Min(left) < messagesOfEach/2 {
		r.Fatalf("messages of the partitions: %v", left)
	}
}

// perPartition counts what is handled.
type perPartition struct {
	mu       sync.Mutex
	handled  [somePartitions]int
	attempts int // highest
}

func (c *perPartition) add(r *rig, d *dueq.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handled[r.partitionOf(d.ID)]++
	c.attempts = max(c.attempts, d.Attempt)
}

// healthy returns how many messages of partitions that are never broken were handled.
func (c *perPartition) healthy() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for i, handled := range c.handled {
		if !slices.Contains(brokenOnes, i) {
			n += handled
		}
	}
	return n
}

func TestConsume_BrokenPartitionsDoNotSlowOthers(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{"hangs": hangs, "refused": refused, "reply lost": replyLost} {
		for when, before := range map[string]time.Duration{"idle": 0, "busy": time.Second} {
			t.Run(name+" while "+when, func(t *testing.T) {
				inBubble(t, func(r *rig) {
					const workers, takes, span = 10, 200 * time.Millisecond, 10 * time.Second
					r.partitioned()
					if before == 0 {
						r.net.breakPartitions(f, brokenOnes...)
					}
					var seen perPartition
					consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
						pass(takes)
						seen.add(r, d)
						return nil
					}, dueq.ConsumeConfig{Concurrency: workers})
					r.sleep(before)
					r.net.breakPartitions(f, brokenOnes...)
					r.sleep(time.Second)
					already := seen.healthy()
					r.sleep(span)
					full := workers * int(span/takes)
					if n := seen.healthy() - already; n < full*95/100 {
						r.Errorf("%d messages of the healthy partitions were handled in %s, %d workers can do %d", n, span, workers, full)
					}
					r.net.breakPartitions(works)
					r.sleep(time.Minute)
					_, err := consumer.end()
					r.must(err)
					if c := r.stats().Counters; c.Acked != c.Sent || seen.attempts != 1 {
						r.Errorf("%+v, highest attempt %d: want each message acked at its first", c, seen.attempts)
					}
				})
			})
		}
	}
}
