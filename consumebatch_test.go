package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
)

// consumeBatch starts a ConsumeBatch.
func (r *rig) consumeBatch(q *dueq.Queue, h dueq.BatchHandler, c dueq.BatchOptions) *consuming {
	ctx, stop := context.WithCancel(r.Context())
	running := &consuming{stop: stop, done: make(chan error, 1)}
	go func() { running.done <- q.ConsumeBatch(ctx, h, c) }()
	return running
}

// sendMany sends n messages that are due, with the bodies "0", "1" and so on.
func (r *rig) sendMany(n int) []string {
	r.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = r.send(dueq.Message{Body: fmt.Append(nil, i)})
	}
	return ids
}

func TestConsumeBatch_TakesWhatIsDueUpToMax(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sendMany(25)
		var sizes []int
		consumer := r.consumeBatch(r.q, func(_ context.Context, batch []*dueq.Delivery) error {
			sizes = append(sizes, len(batch))
			pass(time.Second)
			return nil
		}, dueq.BatchOptions{Max: 10})
		r.sleep(time.Minute)
		_, err := consumer.end()
		r.must(err)
		if !slices.Equal(sizes, []int{10, 10, 5}) {
			r.Errorf("batches of %v, want 10, 10, 5", sizes)
		}
		if s := r.stats(); s.Counters.Acked != 25 {
			r.Errorf("%d acked, want 25", s.Counters.Acked)
		}
	})
}

func TestConsumeBatch_LingersForMore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		most   int
		linger time.Duration
		at     time.Duration // of the first batch, counted from the first message
		size   int           // of the first batch
	}{
		{"not at all", 10, 0, 0, 1},
		{"until time is up", 10, 2500 * time.Millisecond, 2500 * time.Millisecond, 3},
		{"until there are enough", 2, time.Minute, time.Second, 2},
		{"until all of them are there", 5, time.Minute, 4 * time.Second, 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				start, size, at := time.Now(), 0, time.Duration(-1)
				consumer := r.consumeBatch(r.q, func(_ context.Context, batch []*dueq.Delivery) error {
					if size == 0 {
						size, at = len(batch), time.Since(start)
					}
					return nil
				}, dueq.BatchOptions{Max: test.most, Linger: test.linger})
				synctest.Wait()
				start = time.Now()
				for range 5 {
					r.send(dueq.Message{})
					r.sleep(time.Second)
				}
				r.sleep(time.Minute)
				_, err := consumer.end()
				r.must(err)
				if at != test.at || size != test.size {
					r.Errorf("%d messages after %s, want %d after %s", size, at, test.size, test.at)
				}
			})
		})
	}
}

func TestConsumeBatch_EachMessageHasItsVerdict(t *testing.T) {
	t.Parallel()
	mixed := func(ctx context.Context, batch []*dueq.Delivery, whole error) error {
		for _, d := range batch {
			switch string(d.Body) {
			case "0":
				d.Fail(errNoLuck)
			case "1":
				d.Fail(dueq.Reject(errNoLuck))
			case "2":
				d.Fail(dueq.RetryAfter(time.Minute, errNoLuck))
			case "3":
				d.Fail(errNoLuck)
				d.Fail(nil) // the last call counts
			case "4":
				if err := d.Reject(ctx, errNoLuck); err != nil {
					return err
				}
			}
		}
		return whole
	}
	const gone, scheduled, dead = "", "scheduled", "dead"
	tests := []struct {
		name    string
		handler dueq.BatchHandler
		states  [6]string
		failure string // of the last delivery
	}{
		{
			"nil", func(ctx context.Context, batch []*dueq.Delivery) error { return mixed(ctx, batch, nil) },
			[6]string{scheduled, dead, scheduled, gone, dead, gone},
			"",
		},
		{
			"an error", func(ctx context.Context, batch []*dueq.Delivery) error { return mixed(ctx, batch, errNoLuck) },
			[6]string{scheduled, dead, scheduled, gone, dead, scheduled},
			"no luck",
		},
		{
			"reject", func(ctx context.Context, batch []*dueq.Delivery) error {
				return mixed(ctx, batch, fmt.Errorf("insert: %w", dueq.Reject(errNoLuck)))
			},
			[6]string{scheduled, dead, scheduled, gone, dead, dead},
			"insert: no luck",
		},
		{
			"panic", func(context.Context, []*dueq.Delivery) error { panic("oh no") },
			[6]string{scheduled, scheduled, scheduled, scheduled, scheduled, scheduled},
			"panic: oh no\n",
		},
		{
			"goexit", func(context.Context, []*dueq.Delivery) error { runtime.Goexit(); return nil },
			[6]string{scheduled, scheduled, scheduled, scheduled, scheduled, scheduled},
			"the handler called runtime.Goexit",
		},
		{
			"timeout", func(ctx context.Context, _ []*dueq.Delivery) error { <-ctx.Done(); return ctx.Err() },
			[6]string{scheduled, scheduled, scheduled, scheduled, scheduled, scheduled},
			"timeout of 2s: context deadline exceeded",
		},
		{
			"finished in spite of the timeout", func(ctx context.Context, _ []*dueq.Delivery) error { <-ctx.Done(); return nil },
			[6]string{},
			"",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				ids := r.sendMany(len(test.states))
				consumer := r.consumeBatch(r.q, test.handler, dueq.BatchOptions{
					Max: len(ids), ConsumeOptions: dueq.ConsumeOptions{Backoff: inAnHour, Timeout: 2 * time.Second},
				})
				r.sleep(10 * time.Second)
				_, err := consumer.end()
				r.must(err)
				for i, id := range ids {
					m, err := r.direct.Get(r.Context(), dueq.ID(id))
					if err != nil && !errors.Is(err, dueq.ErrNotFound) {
						r.Fatal(err)
					}
					if string(m.State) != test.states[i] {
						r.Errorf("message %d is %q, want %q", i, m.State, test.states[i])
					}
					if i == len(ids)-1 && !strings.HasPrefix(m.LastFailure, test.failure) {
						r.Errorf("failure %q, want %q", m.LastFailure, test.failure)
					}
				}
			})
		})
	}
}

func TestConsumeBatch_SurvivesGoexitAndPanics(t *testing.T) {
	inBubble(t, func(r *rig) {
		calls := 0
		consumer := r.consumeBatch(r.q, func(context.Context, []*dueq.Delivery) error {
			switch calls++; calls {
			case 1:
				runtime.Goexit()
			case 2:
				panic("oh no")
			}
			return nil
		}, dueq.BatchOptions{ConsumeOptions: dueq.ConsumeOptions{Backoff: func(*dueq.Delivery, error) time.Duration { return time.Second }}})
		r.sendMany(3)
		r.sleep(time.Minute)
		_, err := consumer.end()
		r.must(err)
		if s := r.stats(); s.Counters.Acked != 3 {
			r.Errorf("%d acked, want 3", s.Counters.Acked)
		}
		if n := strings.Count(r.logged.String(), "handler panicked"); n != 1 {
			r.Errorf("the panic is logged %d times, want once", n)
		}
	})
}

func TestConsumeBatch_LeasesAreExtendedWhileItLingersAndRuns(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sendMany(3)
		deliveries := 0
		consumer := r.consumeBatch(r.q, func(ctx context.Context, batch []*dueq.Delivery) error {
			deliveries += len(batch)
			pass(time.Minute)
			return ctx.Err()
		}, dueq.BatchOptions{Linger: 30 * time.Second, ConsumeOptions: dueq.ConsumeOptions{Lease: 3 * time.Second}})
		synctest.Wait()
		other := r.consume(r.direct, func(context.Context, *dueq.Delivery) error {
			r.Error("another consumer got a message that is held")
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(2 * time.Minute)
		for _, c := range []*consuming{consumer, other} {
			_, err := c.end()
			r.must(err)
		}
		if deliveries != 3 {
			r.Errorf("%d deliveries, want 3", deliveries)
		}
	})
}

func TestConsumeBatch_CancelOfOneDoesNotEndTheContextOfAll(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("all are cancelled: %t", all), func(t *testing.T) {
			inBubble(t, func(r *rig) {
				ids := r.sendMany(3)
				var cause error
				consumer := r.consumeBatch(r.q, func(ctx context.Context, _ []*dueq.Delivery) error {
					select {
					case <-ctx.Done():
						cause = context.Cause(ctx)
					case <-time.After(time.Minute):
					}
					return nil
				}, dueq.BatchOptions{})
				synctest.Wait()
				for i, id := range ids {
					if all || i == 0 {
						if err := r.direct.Cancel(r.Context(), dueq.ID(id)); !errors.Is(err, dueq.ErrRunning) {
							r.Errorf("cancel: %v", err)
						}
					}
				}
				r.sleep(2 * time.Minute)
				_, err := consumer.end()
				r.must(err)
				if got := errors.Is(cause, dueq.ErrCancelled); got != all {
					r.Errorf("the context ended with %v", cause)
				}
			})
		})
	}
}

func TestConsumeBatch_StopsGracefully(t *testing.T) {
	t.Parallel()
	c := dueq.BatchOptions{Linger: time.Minute, ConsumeOptions: dueq.ConsumeOptions{Grace: 5 * time.Second}}
	t.Run("while it lingers", func(t *testing.T) {
		inBubble(t, func(r *rig) {
			r.sendMany(3)
			consumer := r.consumeBatch(r.q, func(context.Context, []*dueq.Delivery) error {
				r.Error("the handler was called")
				return nil
			}, c)
			r.sleep(time.Second)
			took, err := consumer.end()
			r.must(err)
			if s := r.stats(); took != 0 || s.Ready != 3 || s.Counters.Released != 3 {
				r.Errorf("%s, %d ready, %d released: want at once, 3, 3", took, s.Ready, s.Counters.Released)
			}
		})
	})
	for _, within := range []bool{true, false} {
		t.Run(fmt.Sprintf("the handler returns in time: %t", within), func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.sendMany(3)
				consumer := r.consumeBatch(r.q, func(ctx context.Context, _ []*dueq.Delivery) error {
					if within {
						pass(c.Grace)
						return nil
					}
					<-ctx.Done()
					if !errors.Is(context.Cause(ctx), dueq.ErrClosed) {
						r.Errorf("the context ended with %v", context.Cause(ctx))
					}
					return ctx.Err()
				}, c)
				r.sleep(c.Linger + time.Second)
				_, err := consumer.end()
				r.must(err)
				s := r.stats()
				if acked, released := s.Counters.Acked == 3, s.Counters.Released == 3; acked != within || released == within {
					r.Errorf("%d acked, %d released", s.Counters.Acked, s.Counters.Released)
				}
			})
		})
	}
}

func TestConsumeBatch_MessageThatEndsTheProcessRunsAlone(t *testing.T) {
	inBubble(t, func(r *rig) {
		poison := r.send(dueq.Message{MaxAttempts: 4})
		r.sendMany(9)
		c := dueq.BatchOptions{ConsumeOptions: dueq.ConsumeOptions{Lease: 2 * time.Second}}
		for range 6 {
			p := r.newProcess()
			running := r.consumeBatch(p.client.Queue("work"), func(ctx context.Context, batch []*dueq.Delivery) error {
				for _, d := range batch {
					if d.ID == poison {
						p.die(ctx)
					}
				}
				return nil
			}, c)
			timer := time.NewTimer(time.Minute)
			select {
			case <-p.died:
			case <-timer.C:
			}
			_, err := running.end()
			r.must(err)
			r.must(p.client.Close())
		}
		if s := r.stats(); s.Dead != 1 || s.Counters.Acked != 9 {
			r.Errorf("%d dead, %d acked: want the one that ends processes, and 9", s.Dead, s.Counters.Acked)
		}
	})
}

func TestConsumeBatch_MessageThatHangsDoesNotKeepItsBatch(t *testing.T) {
	inBubble(t, func(r *rig) {
		poison := r.send(dueq.Message{})
		c := dueq.BatchOptions{ConsumeOptions: dueq.ConsumeOptions{Lease: 2 * time.Second}}
		hang := func(ctx context.Context, batch []*dueq.Delivery, how func(context.Context)) error {
			for _, d := range batch {
				if d.ID == poison {
					how(ctx)
				}
			}
			return ctx.Err()
		}
		for range 2 { // at the second crash, the start of the handler had been recorded
			p := r.newProcess()
			dying := r.consumeBatch(p.client.Queue("work"), func(ctx context.Context, batch []*dueq.Delivery) error { return hang(ctx, batch, p.die) }, c)
			<-p.died
			_, err := dying.end()
			r.must(err)
			r.must(p.client.Close())
			r.sleep(30 * time.Second)
		}
		if got, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{}); err != nil || len(got) > 0 {
			r.Fatalf("%d deliveries, %v: want it put back, to be due a moment later", len(got), err)
		}
		r.sleep(time.Second)
		r.sendMany(9)
		hanging := r.consumeBatch(r.q, func(ctx context.Context, batch []*dueq.Delivery) error {
			return hang(ctx, batch, func(ctx context.Context) { <-ctx.Done() })
		}, c)
		r.sleep(time.Second / 2)
		other := r.consumeBatch(r.direct, func(context.Context, []*dueq.Delivery) error { return nil }, c)
		r.sleep(30 * time.Second)
		if s := r.stats(); s.Counters.Acked != 9 || s.Leased != 1 {
			r.Errorf("%d acked, %d leased: want 9, and the one that hangs", s.Counters.Acked, s.Leased)
		}
		if n := r.net.count("release"); n > 10 {
			r.Errorf("released %d times: want the other consumer to claim what was released", n)
		}
		for _, c := range []*consuming{hanging, other} {
			_, err := c.end()
			r.must(err)
		}
	})
}

func TestConsumeBatch_RefusesBadInput(t *testing.T) {
	inBubble(t, func(r *rig) {
		ok := func(context.Context, []*dueq.Delivery) error { return nil }
		wrap := func(h dueq.Handler) dueq.Handler { return h }
		tests := []struct {
			handler dueq.BatchHandler
			config  dueq.BatchOptions
			text    string
		}{
			{nil, dueq.BatchOptions{}, "handler: is nil"},
			{ok, dueq.BatchOptions{Max: -1}, "max: -1 is outside 1 to 10000"},
			{ok, dueq.BatchOptions{Max: 10_001}, "max: 10001 is outside 1 to 10000"},
			{ok, dueq.BatchOptions{Linger: -1}, "linger: -1ns is outside 0s to 1m0s"},
			{ok, dueq.BatchOptions{Linger: 2 * time.Minute}, "linger: 2m0s is outside 0s to 1m0s"},
			{ok, dueq.BatchOptions{ConsumeOptions: dueq.ConsumeOptions{Middleware: []dueq.Middleware{wrap}}}, "middleware: 1 for handlers of one message, want none"},
			{ok, dueq.BatchOptions{Max: 500, ConsumeOptions: dueq.ConsumeOptions{Concurrency: 201}}, "concurrency: 201 batches of 500 messages, want at most 100000 messages in all"},
			{ok, dueq.BatchOptions{ConsumeOptions: dueq.ConsumeOptions{Lease: time.Millisecond}}, "lease: 1ms is outside 1s to 12h"},
		}
		for _, test := range tests {
			err := r.q.ConsumeBatch(r.Context(), test.handler, test.config)
			if !errors.Is(err, dueq.ErrInvalid) || !strings.Contains(fmt.Sprint(err), test.text) {
				r.Errorf("%v: want %s", err, test.text)
			}
		}
	})
}

func TestDelivery_FailOutsideOfABatchPanics(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		got, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		defer func() {
			if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "is not of a batch") {
				r.Errorf("recovered %v", v)
			}
		}()
		got[0].Fail(nil)
	})
}
