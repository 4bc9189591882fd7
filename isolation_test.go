package dueq_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/producer"
	"github.com/dueq-dev/dueq/internal/route"
)

// Partitions can be on different servers. These tests break some of a queue's partitions and check
// that the others are not affected.

const (
	somePartitions = 6
	messagesOfEach = 300
)

// brokenOnes are the partitions on one of three servers.
var brokenOnes = []int{0, 1}

// partitioned makes the queue with six partitions, and fills each with messages.
func (r *rig) partitioned() {
	r.Helper()
	err := r.direct.Create(r.Context(), dueq.Settings{Partitions: somePartitions})
	r.must(err)
	_, err = r.q.Settings(r.Context())
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
					}, dueq.ConsumeOptions{Concurrency: workers})
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

// keyOf returns a key of a partition.
func (r *rig) keyOf(partition int) string {
	r.Helper()
	for i := range 1000 {
		key := strconv.Itoa(i)
		if route.ByKey(key, somePartitions) == partition {
			return key
		}
	}
	r.Fatalf("no key of partition %d", partition)
	return ""
}

func TestSend_BrokenPartitionsDoNotDelayOthers(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.partitioned()
		r.net.breakPartitions(hangs, brokenOnes...)
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		var stuck sync.WaitGroup
		for i := range 20 * producer.Lanes {
			stuck.Go(func() {
				// Each SendBatch makes calls of its own, so it can use up the lanes of a partition.
				key := r.keyOf(brokenOnes[i%len(brokenOnes)])
				_, err := r.q.SendBatch(ctx, []dueq.Message{{Key: key, Replace: true}})
				r.must(err)
			})
		}
		synctest.Wait()
		start := time.Now()
		for i := range somePartitions {
			if slices.Contains(brokenOnes, i) {
				continue
			}
			_, err := r.q.Send(r.Context(), dueq.Message{Key: r.keyOf(i), Replace: true})
			r.must(err)
		}
		if took := time.Since(start); took > 0 {
			r.Errorf("sends to the other partitions took %s", took)
		}
		stuck.Wait()
	})
}

func TestReceive_BrokenPartitionsDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{"hangs": hangs, "refused": refused} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.partitioned()
				r.net.breakPartitions(f, brokenOnes...)
				want := 0
				for i := range somePartitions * messagesOfEach {
					if !slices.Contains(brokenOnes, route.ByKey(strconv.Itoa(i), somePartitions)) {
						want++
					}
				}
				start, got := time.Now(), 0
				for got < want {
					due, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 10})
					r.must(err)
					got += len(due)
					for _, d := range due {
						r.must(d.Ack(r.Context()))
					}
				}
				if took := time.Since(start); took > 3*time.Second {
					r.Errorf("%d messages of the other partitions took %s", got, took)
				}
				if _, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{}); !errors.Is(err, dueq.ErrUnavailable) {
					r.Errorf("%v, want ErrUnavailable when only the broken partitions have messages", err)
				}
				r.net.breakPartitions(works)
				for range 3 {
					due, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 500})
					r.must(err)
					for _, d := range due {
						r.must(d.Ack(r.Context()))
					}
				}
				if s := r.stats(); s.Counters.Acked != s.Counters.Sent || s.Counters.LeaseLost != 0 {
					r.Errorf("%+v: want all acked, and no lease lost", s.Counters)
				}
			})
		})
	}
}
