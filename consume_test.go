package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
)

var errNoLuck = errors.New("no luck")

func inAnHour(*dueq.Delivery, error) time.Duration { return time.Hour }

func TestConsume_ResultsOfHandlers(t *testing.T) {
	t.Parallel()
	wrapped := func(err error) error { return fmt.Errorf("while working: %w", err) }
	tests := []struct {
		name    string
		handler dueq.Handler
		state   dueq.State // "": gone
		delay   time.Duration
		failure string // the beginning of the text
	}{
		{"nil acks", func(context.Context, *dueq.Delivery) error { return nil }, "", 0, ""},
		{"an error backs off", func(context.Context, *dueq.Delivery) error { return errNoLuck }, dueq.Scheduled, time.Hour, "no luck"},
		{
			"retry after", func(context.Context, *dueq.Delivery) error { return wrapped(dueq.RetryAfter(time.Minute, errNoLuck)) },
			dueq.Scheduled, time.Minute, "while working: no luck",
		},
		{
			"reject", func(context.Context, *dueq.Delivery) error { return wrapped(dueq.Reject(errNoLuck)) },
			dueq.Dead, 0, "while working: no luck",
		},
		{"drop", func(context.Context, *dueq.Delivery) error { return wrapped(dueq.Drop(errNoLuck)) }, "", 0, ""},
		{"panic", func(context.Context, *dueq.Delivery) error { panic("oh no") }, dueq.Scheduled, time.Hour, "panic: oh no\ngithub.com/dueq-dev/dueq_test."},
		{"panic with nil", func(context.Context, *dueq.Delivery) error { panic(nil) }, dueq.Scheduled, time.Hour, "panic: panic called with nil"},
		{
			"goexit", func(context.Context, *dueq.Delivery) error { runtime.Goexit(); return nil },
			dueq.Scheduled, time.Hour, "the handler called runtime.Goexit",
		},
		{
			"timeout", func(ctx context.Context, _ *dueq.Delivery) error { <-ctx.Done(); return ctx.Err() },
			dueq.Scheduled, time.Hour, "timeout of 2s: context deadline exceeded",
		},
		{
			"finished in spite of the timeout", func(ctx context.Context, _ *dueq.Delivery) error { <-ctx.Done(); return nil },
			"", 0, "",
		},
		{
			"a long text is cut at a rune", func(context.Context, *dueq.Delivery) error { return errors.New(strings.Repeat("€", 400)) },
			dueq.Scheduled, time.Hour, strings.Repeat("€", 341),
		},
		{"acked by its handler", func(ctx context.Context, d *dueq.Delivery) error { return errors.Join(d.Ack(ctx), errNoLuck) }, "", 0, ""},
		{
			"nacked by its handler", func(ctx context.Context, d *dueq.Delivery) error { return d.Nack(ctx, time.Minute, errNoLuck) },
			dueq.Scheduled, time.Minute, "no luck",
		},
		{
			"rejected by its handler", func(ctx context.Context, d *dueq.Delivery) error { return d.Reject(ctx, nil) },
			dueq.Dead, 0, "",
		},
		{"not JSON", dueq.JSON(func(context.Context, int, *dueq.Delivery) error { return nil }), dueq.Dead, 0, "decode the body: unexpected end of JSON input"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				id := r.send(dueq.Message{})
				var after time.Time
				consumer := r.consume(r.q, func(ctx context.Context, d *dueq.Delivery) error {
					defer func() { after = time.Now() }()
					return test.handler(ctx, d)
				}, dueq.ConsumeOptions{Timeout: 2 * time.Second, Backoff: inAnHour, Concurrency: 1})
				r.sleep(10 * time.Second)
				next := r.send(dueq.Message{Body: []byte("1")})
				synctest.Wait()
				if m, err := r.direct.Get(r.Context(), dueq.ID(next)); err == nil && m.Attempt == 0 && m.State != dueq.Leased {
					r.Error("the worker has not survived")
				}
				_, err := consumer.end()
				r.must(err)

				m, err := r.direct.Get(r.Context(), dueq.ID(id))
				if test.state == "" {
					if !errors.Is(err, dueq.ErrNotFound) {
						r.Fatalf("%+v, %v: want it gone", m, err)
					}
					return
				}
				r.must(err)
				if m.State != test.state || !strings.HasPrefix(m.LastFailure, test.failure) || len(m.LastFailure) > 1024 {
					r.Errorf("state %s, failure %q: want %s, %q", m.State, m.LastFailure, test.state, test.failure)
				}
				if m.State == dueq.Scheduled && m.At.Sub(after) > test.delay+10*time.Second {
					r.Errorf("due %s after the failure, want %s", m.At.Sub(after), test.delay)
				}
			})
		})
	}
}

func TestConsume_RetriesUntilTheHandlerSucceeds(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		var at []time.Duration
		start := time.Now()
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			at = append(at, time.Since(start))
			if d.Attempt != len(at) || d.Failures != len(at)-1 {
				r.Errorf("attempt %d, %d failures at delivery %d", d.Attempt, d.Failures, len(at))
			}
			if len(at) < 4 {
				return errNoLuck
			}
			return nil
		}, dueq.ConsumeOptions{Backoff: func(d *dueq.Delivery, err error) time.Duration {
			if !errors.Is(err, errNoLuck) {
				r.Errorf("Backoff was passed %v, want what the handler returned", err)
			}
			return time.Duration(d.Failures+1) * time.Minute
		}})
		r.sleep(time.Hour)
		_, err := consumer.end()
		r.must(err)
		if want := "[0s 1m0s 3m0s 6m0s]"; fmt.Sprint(at) != want {
			r.Errorf("delivered at %v, want %v", at, want)
		}
	})
}

func TestConsume_LeaseOfALongHandlerIsExtended(t *testing.T) {
	inBubble(t, func(r *rig) {
		const lease = 3 * time.Second
		r.send(dueq.Message{})
		started := make(chan struct{})
		consumer := r.consume(r.q, func(ctx context.Context, _ *dueq.Delivery) error {
			close(started)
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				r.Errorf("the context ended: %v", context.Cause(ctx))
			}
			return nil
		}, dueq.ConsumeOptions{Lease: lease})
		<-started
		other := r.consume(r.direct, func(context.Context, *dueq.Delivery) error {
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(2 * time.Minute)
		_, err := consumer.end()
		r.must(err)
		_, err = other.end()
		r.must(err)
		if s := r.stats(); s.Counters.Delivered != 1 || s.Counters.Acked != 1 {
			r.Errorf("%+v, want one delivery", s.Counters)
		}
	})
}

func TestConsume_MaxHoldAndTimeoutEndExtensions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config dueq.ConsumeOptions
	}{
		{"max hold", dueq.ConsumeOptions{Lease: 3 * time.Second, MaxHold: 20 * time.Second, Concurrency: 1}},
		{"timeout", dueq.ConsumeOptions{Lease: 3 * time.Second, Timeout: 20 * time.Second, Concurrency: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				start := time.Now()
				r.send(dueq.Message{})
				var again time.Duration
				hung := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
					pass(time.Hour) // the handler ignores its context
					return nil
				}, test.config)
				synctest.Wait()
				other := r.consume(r.direct, func(context.Context, *dueq.Delivery) error {
					again = time.Since(start)
					return nil
				}, dueq.ConsumeOptions{})
				r.sleep(2 * time.Hour)
				if again < 20*time.Second || again > 25*time.Second {
					r.Errorf("given to another consumer after %s, want 20 s and a lease", again)
				}
				_, err := hung.end()
				r.must(err)
				_, err = other.end()
				r.must(err)
			})
		})
	}
}

func TestConsume_SlowHandlerPrefetchesLittle(t *testing.T) {
	inBubble(t, func(r *rig) {
		for range 100 {
			r.send(dueq.Message{})
		}
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			pass(time.Second)
			return nil
		}, dueq.ConsumeOptions{Concurrency: 4})
		for range 20 {
			pass(500 * time.Millisecond)
			synctest.Wait()
			if s := r.stats(); s.Leased > 4 {
				r.Fatalf("%d held by 4 slow workers", s.Leased)
			}
		}
		_, err := consumer.end()
		r.must(err)
	})
}

// turning is a handler that takes a millisecond for each of the first messages, so that others are
// prefetched. Then it hangs until the test releases it.
func turning(fast int, hold <-chan struct{}) dueq.Handler {
	var started atomic.Int64
	return func(context.Context, *dueq.Delivery) error {
		if started.Add(1) <= int64(fast) {
			pass(time.Millisecond)
			return nil
		}
		<-hold
		return nil
	}
}

func TestConsume_HungHandlersDoNotKeepMessagesFromOthers(t *testing.T) {
	inBubble(t, func(r *rig) {
		const fast, workers, waiting = 200, 10, 300
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, fast+waiting))
		r.must(err)
		hold := make(chan struct{})
		hung := r.consume(r.q, turning(fast, hold), dueq.ConsumeOptions{Concurrency: workers})
		r.sleep(500 * time.Millisecond)
		if s := r.stats(); s.Leased < waiting/2 {
			r.Fatalf("%d leased: nothing was fetched ahead", s.Leased)
		}
		var seen tally
		other := r.consume(r.direct, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			if d.Failures > 0 {
				r.Errorf("%d failures", d.Failures)
			}
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(3 * time.Second)
		if seen.total() != waiting-workers {
			r.Errorf("the other consumer handled %d, want all but the %d that handlers work on", seen.total(), workers)
		}
		r.sleep(time.Minute)
		if c := r.stats().Counters; c.Released > waiting {
			r.Errorf("%d released: want each message once at most", c.Released)
		}
		close(hold)
		_, err = hung.end()
		r.must(err)
		_, err = other.end()
		r.must(err)
		if c := r.stats().Counters; c.Acked != fast+waiting || c.LeaseLost != 0 {
			r.Errorf("%+v: want all acked, and no lease lost", c)
		}
	})
}

// When handlers were slow for a moment only, the messages that were released are claimed again.
func TestConsume_PrefetchesAgainAfterAStall(t *testing.T) {
	inBubble(t, func(r *rig) {
		const fast, more = 200, 2000
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, fast+more))
		r.must(err)
		hold := make(chan struct{})
		consumer := r.consume(r.q, turning(fast, hold), dueq.ConsumeOptions{})
		r.sleep(5 * time.Second)
		close(hold)
		r.sleep(time.Second)
		_, err = consumer.end()
		r.must(err)
		if c, calls := r.stats().Counters, r.net.count("claim"); c.Acked != fast+more || calls > (fast+more)/10 {
			r.Errorf("%+v, %d claims: want all acked, in few claims", c, calls)
		}
	})
}

func TestConsume_PrefetchIsBoundInBytes(t *testing.T) {
	inBubble(t, func(r *rig) {
		const fast, workers, body, most = 200, 10, 64 << 10, 2 << 20
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, fast))
		r.must(err)
		large := make([]dueq.Message, 300)
		for i := range large {
			large[i].Body = make([]byte, body)
		}
		_, err = r.direct.SendBatch(r.Context(), large)
		r.must(err)
		hold := make(chan struct{})
		consumer := r.consume(r.q, turning(fast, hold), dueq.ConsumeOptions{Concurrency: workers, PrefetchBytes: most})
		r.sleep(500 * time.Millisecond)
		const reply = 1 << 20
		if s := r.stats(); s.Leased > workers+(most+reply)/body || s.Leased < workers+2 {
			r.Errorf("%d messages of %d bytes leased: want some waiting, no more than %d bytes and a reply", s.Leased, body, most)
		}
		close(hold)
		r.sleep(time.Minute)
		_, err = consumer.end()
		r.must(err)
	})
}

func TestConsume_NoPrefetchClaimsForFreeHandlersOnly(t *testing.T) {
	inBubble(t, func(r *rig) {
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, 100))
		r.must(err)
		hold := make(chan struct{})
		consumer := r.consume(r.q, turning(50, hold), dueq.ConsumeOptions{Concurrency: 4, NoPrefetch: true})
		r.sleep(500 * time.Millisecond)
		if s := r.stats(); s.Leased != 4 || s.Counters.Acked != 50 {
			r.Errorf("%d leased, %+v: want no more than the handlers work on", s.Leased, s.Counters)
		}
		close(hold)
		r.sleep(time.Second)
		_, err = consumer.end()
		r.must(err)
		if c := r.stats().Counters; c.Acked != 100 || c.Delivered != 100 {
			r.Errorf("%+v: want each acked after one delivery", c)
		}
	})
}

func TestConsume_FastHandlerDoesNotWaitForClaims(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 5000
		batch := make([]dueq.Message, messages)
		_, err := r.direct.SendBatch(r.Context(), batch)
		r.must(err)
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{})
		synctest.Wait()
		_, err = consumer.end()
		r.must(err)
		if s := r.stats(); s.Counters.Acked != messages {
			r.Fatalf("%d acked, want %d", s.Counters.Acked, messages)
		}
		if calls := r.net.count("claim"); calls > messages/20 {
			r.Errorf("%d claims for %d messages", calls, messages)
		}
	})
}

func TestConsume_AtMostOnce(t *testing.T) {
	inBubble(t, func(r *rig) {
		for range 20 {
			r.send(dueq.Message{})
		}
		var seen tally
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			pass(time.Second)
			return errNoLuck
		}, dueq.ConsumeOptions{AtMostOnce: true, Concurrency: 3})
		synctest.Wait()
		if s := r.stats(); s.Counters.Acked != 3 || s.Ready != 17 {
			r.Errorf("%+v: want only what a worker is free for", s)
		}
		r.sleep(time.Minute)
		_, err := consumer.end()
		r.must(err)
		if s := r.stats(); seen.distinct() != 20 || seen.total() != 20 || s.Counters.Acked != 20 {
			r.Errorf("%d messages handled %d times, want 20 once: %+v", seen.distinct(), seen.total(), s.Counters)
		}
	})
}

func TestPause_UntilResume(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Delay: time.Second})
		r.must(r.direct.Pause(r.Context()))
		var at time.Duration
		start := time.Now()
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			at = time.Since(start)
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(time.Minute)
		if at != 0 {
			r.Errorf("delivered after %s though paused", at)
		}
		if _, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Wait: time.Minute}); !errors.Is(err, dueq.ErrPaused) {
			r.Errorf("receive: %v, want ErrPaused", err)
		}
		r.must(r.direct.Resume(r.Context()))
		synctest.Wait()
		if at != time.Minute {
			r.Errorf("delivered after %s, want at once when resumed", at)
		}
		_, err := consumer.end()
		r.must(err)
	})
}

func TestConsume_OutageIsLoggedOnceAndSurvived(t *testing.T) {
	inBubble(t, func(r *rig) {
		var seen tally
		r.net.set(everything(refused)) // from the start: the queue's settings cannot be read either
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			return nil
		}, dueq.ConsumeOptions{})
		for range 3 {
			r.send(dueq.Message{})
			pass(10 * time.Minute)
			r.net.set(nil)
			pass(10 * time.Second)
			r.net.set(everything(refused))
		}
		r.net.set(nil)
		_, err := consumer.end()
		r.must(err)
		if seen.total() != 3 {
			r.Errorf("handled %d of 3", seen.total())
		}
		log := r.logged.String()
		if n := strings.Count(log, "does not serve"); n != 3 {
			r.Errorf("%d warnings of 3 outages:\n%s", n, log)
		}
	})
}

func TestConsume_SettlesAreRepeatedThroughAnOutage(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			r.net.set(everything(refused))
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(20 * time.Second)
		r.net.set(nil)
		r.sleep(5 * time.Second)
		if s := r.stats(); s.Counters.Acked != 1 || s.Counters.LeaseLost != 0 {
			r.Errorf("%+v: want it acked when the store is back", s.Counters)
		}
		_, err := consumer.end()
		r.must(err)
	})
}

func TestConsume_SettleEndsWithTheLease(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		var seen tally
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			if seen.add(d.ID) == 1 {
				r.net.set(everything(refused))
			}
			return nil
		}, dueq.ConsumeOptions{Lease: 5 * time.Second, Concurrency: 1})
		r.sleep(time.Minute)
		r.net.set(nil)
		r.sleep(5 * time.Second)
		_, err := consumer.end()
		r.must(err)
		if s := r.stats(); seen.total() != 2 || s.Counters.LeaseLost != 1 || s.Counters.Acked != 1 {
			r.Errorf("handled %d times, %+v: want a second delivery", seen.total(), s.Counters)
		}
		if !strings.Contains(r.logged.String(), "lease given up") {
			r.Error("not logged")
		}
	})
}

// once makes a fault of the first call of an operation.
func once(f fault, op string) func(string) fault {
	var happened atomic.Bool
	return func(o string) fault {
		if o == op && happened.CompareAndSwap(false, true) {
			return f
		}
		return works
	}
}

func TestConsume_HandlerIsNotStartedOnALeaseThatHasRunOut(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		r.net.set(once(replyLate, "claim")) // later than the lease allows
		var late, other tally
		stalled := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			late.add(d.ID)
			return nil
		}, dueq.ConsumeOptions{Lease: time.Second})
		synctest.Wait()
		healthy := r.consume(r.direct, func(_ context.Context, d *dueq.Delivery) error {
			other.add(d.ID)
			pass(10 * time.Second)
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(20 * time.Second)
		_, err := stalled.end()
		r.must(err)
		_, err = healthy.end()
		r.must(err)
		if late.total() != 0 || other.total() != 1 {
			r.Errorf("started %d times by the consumer whose lease had run out, %d times by the other: want 0 and 1", late.total(), other.total())
		}
		if c := r.stats().Counters; c.Acked != 1 || c.Delivered != 2 {
			r.Errorf("%+v: want it acked at its second delivery", c)
		}
	})
}

func TestConsume_AckThatStallsIsRepeatedWithinTheLease(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		r.net.set(once(hangs, "ack"))
		var start time.Time
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			start = time.Now()
			return nil
		}, dueq.ConsumeOptions{Lease: time.Second})
		for r.stats().Counters.Acked == 0 {
			r.sleep(10 * time.Millisecond)
		}
		if took := time.Since(start); took > time.Second/2 {
			r.Errorf("acked %s after the handler, want within half a lease of a second", took)
		}
		_, err := consumer.end()
		r.must(err)
		if c := r.stats().Counters; c.Delivered != 1 || c.LeaseLost != 0 {
			r.Errorf("%+v: want one delivery", c)
		}
	})
}

func TestConsume_StalledAckDoesNotDelayOthers(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.net.set(once(stalls, "ack"))
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{Lease: time.Second})
		other := r.consume(r.direct, func(context.Context, *dueq.Delivery) error {
			pass(100 * time.Millisecond)
			return nil
		}, dueq.ConsumeOptions{Concurrency: 1, NoPrefetch: true})
		const messages = 100
		for range messages {
			r.send(dueq.Message{})
			r.sleep(50 * time.Millisecond)
		}
		r.sleep(5 * time.Second)
		_, err := consumer.end()
		r.must(err)
		_, err = other.end()
		r.must(err)
		if c := r.stats().Counters; c.Acked != messages || c.LeaseLost != 0 || c.Delivered != messages {
			r.Errorf("%+v: want each acked after one delivery, though one reply took %s of a lease of a second", c, lateBy)
		}
	})
}

func TestClose_EndsConsumeAndReceive(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{})
		consumer := r.consume(r.q, func(ctx context.Context, _ *dueq.Delivery) error {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				r.Errorf("the handler's grace was cut short: %v", context.Cause(ctx))
			}
			return nil
		}, dueq.ConsumeOptions{})
		received := make(chan error, 1)
		r.must(r.spared.Queue("other").Create(r.Context(), dueq.Settings{}))
		go func() {
			_, err := r.client.Queue("other").Receive(r.Context(), dueq.ReceiveOptions{Wait: time.Minute})
			received <- err
		}()
		synctest.Wait()
		r.must(r.client.Close())
		r.must(r.client.Close())
		for _, err := range []error{<-consumer.done, <-received} {
			if !errors.Is(err, dueq.ErrClosed) {
				r.Errorf("%v, want ErrClosed", err)
			}
		}
		if _, err := r.direct.Get(r.Context(), dueq.ID(id)); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("not acked: %v", err)
		}
		if err := r.q.Consume(r.Context(), nil, dueq.ConsumeOptions{}); !errors.Is(err, dueq.ErrClosed) {
			r.Errorf("consume after close: %v", err)
		}
	})
}

func TestMiddleware_FirstIsOutermost(t *testing.T) {
	inBubble(t, func(r *rig) {
		var order []string
		named := func(name string) dueq.Middleware {
			return func(next dueq.Handler) dueq.Handler {
				return func(ctx context.Context, d *dueq.Delivery) error {
					order = append(order, name)
					return next(ctx, d)
				}
			}
		}
		r.send(dueq.Message{})
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			order = append(order, "handler")
			return nil
		}, dueq.ConsumeOptions{Middleware: []dueq.Middleware{named("first"), named("second")}})
		synctest.Wait()
		_, err := consumer.end()
		r.must(err)
		if fmt.Sprint(order) != "[first second handler]" {
			r.Errorf("order %v", order)
		}
	})
}

func TestConsume_AllPartitionsAreConsumed(t *testing.T) {
	inBubble(t, func(r *rig) {
		err := r.direct.Create(r.Context(), dueq.Settings{Partitions: 4})
		r.must(err)
		for i := range 100 {
			r.send(dueq.Message{Key: fmt.Sprint("k", i), Delay: time.Duration(i) * time.Millisecond})
			r.send(dueq.Message{})
		}
		var seen tally
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			pass(10 * time.Millisecond)
			return nil
		}, dueq.ConsumeOptions{Concurrency: 3})
		r.sleep(time.Minute)
		_, err = consumer.end()
		r.must(err)
		if seen.distinct() != 200 || seen.total() != 200 {
			r.Errorf("%d messages handled %d times, want 200 once", seen.distinct(), seen.total())
		}
	})
}

func TestConsume_IdleConsumerMakesFewCalls(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Delay: time.Hour})
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{})
		r.sleep(100 * time.Second)
		_, err := consumer.end()
		r.must(err)
		if calls := r.net.count("claim") + r.net.count("beat") + r.net.count("duties") + r.net.count("extend"); calls > 60 {
			r.Errorf("%d calls in 100 s: want a beat every 5 s, and at most a claim every 2 s, after 30 s one every 10 s", calls)
		}
	})
}

func TestConsume_BadInputIsRefused(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	t.Cleanup(func() { _ = client.Close() })
	ok := func(context.Context, *dueq.Delivery) error { return nil }
	tests := []struct {
		name    string
		queue   string
		handler dueq.Handler
		config  dueq.ConsumeOptions
		field   string
	}{
		{"queue", "a b", ok, dueq.ConsumeOptions{}, "queue"},
		{"no handler", "work", nil, dueq.ConsumeOptions{}, "handler"},
		{"negative concurrency", "work", ok, dueq.ConsumeOptions{Concurrency: -1}, "concurrency"},
		{"excessive concurrency", "work", ok, dueq.ConsumeOptions{Concurrency: 10_001}, "concurrency"},
		{"negative prefetch", "work", ok, dueq.ConsumeOptions{Prefetch: -1}, "prefetch"},
		{"prefetch that is off", "work", ok, dueq.ConsumeOptions{Prefetch: 1, NoPrefetch: true}, "prefetch"},
		{"negative prefetch bytes", "work", ok, dueq.ConsumeOptions{PrefetchBytes: -1}, "prefetch bytes"},
		{"excessive prefetch bytes", "work", ok, dueq.ConsumeOptions{PrefetchBytes: 1<<30 + 1}, "prefetch bytes"},
		{"short lease", "work", ok, dueq.ConsumeOptions{Lease: 999 * time.Millisecond}, "lease"},
		{"long lease", "work", ok, dueq.ConsumeOptions{Lease: 13 * time.Hour}, "lease"},
		{"negative timeout", "work", ok, dueq.ConsumeOptions{Timeout: -1}, "timeout"},
		{"negative grace", "work", ok, dueq.ConsumeOptions{Grace: -1}, "grace"},
		{"negative max hold", "work", ok, dueq.ConsumeOptions{MaxHold: -1}, "max hold"},
		{"name", "work", ok, dueq.ConsumeOptions{Name: "a:b"}, "name"},
		{"long name", "work", ok, dueq.ConsumeOptions{Name: strings.Repeat("n", 33)}, "name"},
		{"nil middleware", "work", ok, dueq.ConsumeOptions{Middleware: []dueq.Middleware{nil}}, "middleware"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := client.Queue(test.queue).Consume(t.Context(), test.handler, test.config)
			wantInvalid(t, err, test.field)
		})
	}
}

// wantInvalid fails the test unless err is ErrInvalid for a field.
func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var refusal *dueq.Error
	if !errors.Is(err, dueq.ErrInvalid) || !errors.As(err, &refusal) || refusal.Field != field {
		t.Errorf("%v, want ErrInvalid for the field %q", err, field)
	}
}
