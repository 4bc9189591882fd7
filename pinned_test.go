package dueq_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// placed collects how many messages of each partition were handled, and how late the latest was.
type placed struct {
	rig *rig

	mu   sync.Mutex
	by   map[int]int
	late time.Duration
}

func (p *placed) handle(_ context.Context, d *dueq.Delivery) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.by[p.rig.partitionOf(d.ID)]++
	p.late = max(p.late, time.Since(d.Due))
	return nil
}

func TestConsume_PinnedToPartitions(t *testing.T) {
	inBubble(t, func(r *rig) {
		const partitions, each = 4, 10
		r.must(r.direct.Create(r.Context(), dueq.Settings{Partitions: partitions}))
		pinned, rest := &placed{rig: r, by: map[int]int{}}, &placed{rig: r, by: map[int]int{}}
		first := r.newProcess()
		running := r.consume(first.client.Queue("work"), pinned.handle, dueq.ConsumeOptions{Partitions: []int{3, 1, 3, 9}})
		r.sleep(settled)
		send := func() {
			for range partitions * each {
				r.send(dueq.Message{Delay: 100 * time.Millisecond})
				r.sleep(100 * time.Millisecond)
			}
			r.sleep(time.Second)
		}
		send()
		if len(pinned.by) != 2 || pinned.by[1] != each || pinned.by[3] != each || pinned.late > 5*time.Millisecond {
			t.Errorf("handled %v, up to %s late, want %d of the partitions 1 and 3 without delay", pinned.by, pinned.late, each)
		}
		if s := r.stats(); s.Ready != 2*each {
			t.Errorf("%d are ready, want %d", s.Ready, 2*each)
		}
		second := r.newProcess()
		others := r.consume(second.client.Queue("work"), rest.handle, dueq.ConsumeOptions{})
		r.sleep(settled)
		members, err := r.direct.Members(r.Context())
		r.must(err)
		duties := 0
		for _, m := range members {
			duties += len(m.OnDuty)
			if m.Trial != (len(m.OnDuty) == 0) {
				t.Errorf("%+v", m)
			}
		}
		if len(members) != 2 || duties != partitions {
			t.Errorf("members %+v, want all duties with the consumer that is not pinned", members)
		}
		if rest.by[0] != each || rest.by[2] != each {
			t.Errorf("the consumer that is not pinned handled %v", rest.by)
		}
		pinned.late, rest.late = 0, 0
		send()
		if late := max(pinned.late, rest.late); late > 5*time.Millisecond || len(pinned.by) != 2 {
			t.Errorf("with both: handled %v and %v, up to %s late", pinned.by, rest.by, late)
		}
		for _, c := range []*consuming{running, others} {
			_, err := c.end()
			r.must(err)
		}
		r.must(first.client.Close())
		r.must(second.client.Close())
	})
}

func TestConsume_BadPartitions(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.direct.Create(r.Context(), dueq.Settings{Partitions: 4}))
		for _, test := range []struct {
			partitions []int
			value      string
		}{{[]int{0, -1}, "-1"}, {[]int{1 << 20}, "1048576"}, {[]int{4, 7}, "[4 7]"}} {
			err := r.direct.Consume(r.Context(), func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{Partitions: test.partitions})
			if e, ok := errors.AsType[*dueq.Error](err); !ok || !errors.Is(err, dueq.ErrInvalid) || e.Field != "partitions" || e.Value != test.value {
				t.Errorf("%v: %v", test.partitions, err)
			}
			if !slices.Contains(test.partitions, 4) {
				_, err = dueq.NewWorker(r.client, dueq.WorkerOptions{Partitions: test.partitions})
				if !errors.Is(err, dueq.ErrInvalid) {
					t.Errorf("a worker with %v: %v", test.partitions, err)
				}
			}
		}
	})
}

// A worker consumes the queues that have some of its partitions, and goes on without the others.
func TestWorker_PinnedToPartitions(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.direct.Create(r.Context(), dueq.Settings{Partitions: 4}))
		r.must(r.client.Queue("small").Create(r.Context(), dueq.Settings{}))
		seen := &placed{rig: r, by: map[int]int{}}
		w, err := dueq.NewWorker(r.client, dueq.WorkerOptions{Partitions: []int{3}})
		r.must(err)
		r.must(w.Handle("*", seen.handle, dueq.HandleOptions{}))
		ctx, stop := context.WithCancel(r.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		_, err = r.client.Queue("small").Send(r.Context(), dueq.Message{})
		r.must(err)
		for range 8 {
			r.send(dueq.Message{})
		}
		r.sleep(2 * time.Minute)
		stop()
		r.must(<-ended)
		if len(seen.by) != 1 || seen.by[3] != 2 {
			t.Errorf("handled %v, want 2 of partition 3", seen.by)
		}
		if s, err := r.client.Queue("small").Stats(r.Context()); err != nil || s.Ready != 1 {
			t.Errorf("the queue that has no such partition: %d ready, %v", s.Ready, err)
		}
	})
}
