package dueq_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// tardy is a store that takes its time to settle.
type tardy struct {
	store.Store
	takes time.Duration
	calls atomic.Int64
}

func (s *tardy) Settle(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	s.calls.Add(1)
	timer := time.NewTimer(s.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.Store.Settle(ctx, p, r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *tardy) Close() error { return nil }

// over returns a queue of the rig's store, reached over another one.
func (r *rig) over(s store.Store) *dueq.Queue {
	client := opened(r)(dueq.New(s, &dueq.Options{Logger: slog.New(slog.NewTextHandler(r.logged, nil))}))
	r.Cleanup(func() { _ = client.Close() })
	return client.Queue("work")
}

func TestConsume_WorkersDoNotWaitForTheStore(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 100
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, messages))
		r.must(err)
		s := &tardy{Store: r.net, takes: time.Second}
		var handled atomic.Int64
		consumer := r.consume(r.over(s), func(context.Context, *dueq.Delivery) error {
			handled.Add(1)
			return nil
		}, dueq.ConsumeOptions{Concurrency: 4})
		r.sleep(1500 * time.Millisecond)
		if n := handled.Load(); n != messages {
			r.Errorf("%d handled, want all %d while the first verdicts are under way", n, messages)
		}
		took, err := consumer.end()
		r.must(err)
		if c := r.stats().Counters; c.Acked != messages || c.Delivered != messages || s.calls.Load() > 4 {
			r.Errorf("%+v, %d calls: want all acked when Consume returns, in a few calls", c, s.calls.Load())
		}
		if took > 2*time.Second {
			r.Errorf("stopping took %s", took)
		}
	})
}

func TestConsume_UnreportedVerdictsLimitClaims(t *testing.T) {
	inBubble(t, func(r *rig) {
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, 1000))
		r.must(err)
		var handled atomic.Int64
		r.net.set(always(refused, "ack", "release"))
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			handled.Add(1)
			return nil
		}, dueq.ConsumeOptions{Concurrency: 4, Prefetch: 20})
		r.sleep(10 * time.Second)
		if s := r.stats(); s.Leased > 24 || handled.Load() > 24 {
			r.Errorf("%d held, %d handled: want at most 24", s.Leased, handled.Load())
		}
		r.net.set(nil)
		r.sleep(10 * time.Second)
		_, err = consumer.end()
		r.must(err)
		if c := r.stats().Counters; c.Acked != 1000 || c.Delivered != 1000 {
			r.Errorf("%+v: want each acked after one delivery", c)
		}
	})
}

func TestConsume_LeasesAreExtendedWhileVerdictsAreInFlight(t *testing.T) {
	inBubble(t, func(r *rig) {
		nop := func(context.Context, *dueq.Delivery) error { return nil }
		slow := r.consume(r.over(&tardy{Store: r.net, takes: 2500 * time.Millisecond}), nop,
			dueq.ConsumeOptions{Concurrency: 4, Lease: 3 * time.Second})
		// The verdict on the second waits for that on the first, until 5 s, and its lease
		// would end at 4 s.
		r.send(dueq.Message{})
		r.sleep(time.Second)
		r.send(dueq.Message{})
		synctest.Wait()
		other := r.consume(r.direct, nop, dueq.ConsumeOptions{})
		r.sleep(time.Minute)
		_, err := slow.end()
		r.must(err)
		_, err = other.end()
		r.must(err)
		if c := r.stats().Counters; c.Acked != 2 || c.LeaseLost != 0 || c.Delivered != 2 {
			r.Errorf("%+v: want no lease lost", c)
		}
	})
}

func TestAck_VerdictsOfOneCallHaveTheirOwnResults(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 40
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, messages))
		r.must(err)
		s := &tardy{Store: r.net, takes: 100 * time.Millisecond}
		all, err := r.over(s).Receive(r.Context(), dueq.ReceiveOptions{Max: messages})
		r.must(err)
		var settling sync.WaitGroup
		for i, d := range all {
			settling.Go(func() { r.nackOneWayOrAnother(i, d) })
		}
		settling.Wait()
		if n := s.calls.Load(); n > 3 {
			r.Errorf("%d calls for %d verdicts", n, messages)
		}
		if c := r.stats().Counters; c.Nacked != messages/5 {
			r.Errorf("%+v: want %d nacks", c, messages/5)
		}
	})
}

// nackOneWayOrAnother nacks the i-th delivery; depending on i, that can succeed or not.
func (r *rig) nackOneWayOrAnother(i int, d *dueq.Delivery) {
	ctx, delay, want := r.Context(), time.Minute, error(nil)
	switch i % 5 {
	case 1:
		delay, want = 11*366*24*time.Hour, dueq.ErrInvalid
	case 2:
		r.settleBehind(d, store.Ack) // the message is gone, so the nack succeeds
	case 3:
		r.settleBehind(d, store.Release)
		want = dueq.ErrLeaseLost
	case 4:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		delay, want = time.Hour, context.DeadlineExceeded
		r.settleBehind(d, store.Reject) // otherwise it could be settled together with the others
	}
	if err := d.Nack(ctx, delay, errNoLuck); !errors.Is(err, want) {
		r.Errorf("delivery %d: %v, want %v", i, err, want)
	}
}

// settleBehind settles a delivery without its holder.
func (r *rig) settleBehind(d *dueq.Delivery, v store.Verdict) {
	id, err := store.ParseID(d.ID)
	r.must(err)
	_, err = r.net.Settle(r.Context(), store.Partition{Queue: d.Queue}, store.SettleRequest{
		Verdict: v, Items: []store.Settlement{{Receipt: store.Receipt{ID: id, Attempt: d.Attempt}}},
	})
	r.must(err)
}

func TestAck_UnreachableStoreFailsAllVerdictsOfACall(t *testing.T) {
	inBubble(t, func(r *rig) {
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, 10))
		r.must(err)
		r.net.set(always(refused, "ack"))
		s := &tardy{Store: r.net, takes: 100 * time.Millisecond}
		all, err := r.over(s).Receive(r.Context(), dueq.ReceiveOptions{Max: 10})
		r.must(err)
		var settling sync.WaitGroup
		for _, d := range all {
			settling.Go(func() {
				if err := d.Ack(r.Context()); !errors.Is(err, dueq.ErrUnavailable) {
					r.Errorf("%v, want ErrUnavailable", err)
				}
			})
		}
		settling.Wait()
		r.net.set(nil)
		for _, d := range all {
			r.must(d.Ack(r.Context()))
		}
	})
}

func TestAckAll_SharesCallsAndReportsEachFailure(t *testing.T) {
	inBubble(t, func(r *rig) {
		ids := r.sendMany(100)
		got, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 98, Lease: time.Hour})
		r.must(err)
		r.must(got[7].Ack(r.Context()))
		short, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 2, Lease: time.Second})
		r.must(err)
		r.sleep(time.Minute)
		_, err = r.direct.Receive(r.Context(), dueq.ReceiveOptions{Max: 2}) // the deliveries whose leases short has lost
		r.must(err)
		got = append(got, short...)
		before := r.net.count("ack")
		err = dueq.AckAll(r.Context(), got)
		if calls := r.net.count("ack") - before; calls != 1 {
			r.Errorf("%d calls for 100 acks", calls)
		}
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok || len(joined.Unwrap()) != 2 {
			r.Fatalf("%v: want the errors of 2 messages", err)
		}
		for _, err := range joined.Unwrap() {
			failed, ok := errors.AsType[*dueq.Error](err)
			if !ok || !errors.Is(err, dueq.ErrLeaseLost) || !slices.Contains(ids, failed.ID) {
				r.Errorf("%v", err)
			}
		}
	})
}

func TestNackAll_EachHasItsOwnResult(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.sendMany(3)
		got, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 3})
		r.must(err)
		r.must(dueq.NackAll(r.Context(), got, time.Hour, errNoLuck))
		if s := r.stats(); s.Scheduled != 3 || s.Counters.Nacked != 3 {
			r.Errorf("%d scheduled, %d nacked, want 3", s.Scheduled, s.Counters.Nacked)
		}
		r.must(dueq.AckAll(r.Context(), nil))
	})
}
