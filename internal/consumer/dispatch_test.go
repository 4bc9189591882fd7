package consumer

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// dispatching is a consumer of one partition whose handlers need slots, and another queue that
// shares these.
type dispatching struct {
	*testing.T
	work    *work
	other   *Share
	handled int
	stop    context.CancelFunc
}

func newDispatching(t *testing.T, slots int, c *Config) *dispatching {
	t.Helper()
	all := NewSlots(slots)
	d := &dispatching{T: t, other: all.Share(1, slots)}
	c.Share, c.Log, c.Concurrency, c.Partitions, c.Lease = all.Share(1, slots), slog.New(slog.DiscardHandler), slots, 1, time.Minute
	c.Handle = func(context.Context, *Held) error {
		d.handled++
		return nil
	}
	d.work = newWork(c, newHoldings(), newSettler(c))
	return d
}

// start starts the dispatcher and waits until it sleeps.
func (d *dispatching) start() {
	d.Helper()
	ctx, stop := context.WithCancel(d.Context())
	d.stop = stop
	d.work.start(ctx, d.Context())
	synctest.Wait()
}

// end stops the consumer and waits for the end of its dispatcher.
func (d *dispatching) end() {
	d.Helper()
	d.stop()
	d.work.workers.Wait()
}

// mayTake reports how many slots the other queue can get.
func (d *dispatching) mayTake(n int) int {
	d.Helper()
	reserved, _ := d.other.reserve(n)
	return reserved
}

func TestDispatch_EndGivesUpReservedSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDispatching(t, 2, &Config{})
		take(t.Context(), d.work.capacity, 0, store.MaxBatch)
		d.work.capacity.claimed(0, 0, 0, true) // more messages are due, so the slots are kept for the next claim
		d.start()
		if free := d.mayTake(2); free != 0 {
			t.Fatalf("%d slots are free, want all reserved for the next claim", free)
		}
		d.end()
		if free := d.mayTake(2); free != 2 {
			t.Errorf("%d slots are free after the end of the consumer, want 2", free)
		}
	})
}

func TestDispatch_EndWithdrawsTheRequestForSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDispatching(t, 1, &Config{})
		if d.mayTake(1) != 1 {
			t.Fatal("want the slot for the other queue")
		}
		d.start()
		d.work.accept(t.Context(), store.Partition{}, make([]store.Delivery, 1), time.Now())
		synctest.Wait() // until the dispatcher has asked for a slot
		d.end()
		d.other.trim(0)
		if free := d.mayTake(1); free != 1 {
			t.Error("the slot went to a consumer that has ended")
		}
	})
}

func TestDispatch_AtMostOnceHandlesAfterTheStopWhatWaitsForASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDispatching(t, 1, &Config{AtMostOnce: true})
		if d.mayTake(1) != 1 {
			t.Fatal("want the slot for the other queue")
		}
		d.start()
		d.work.accept(t.Context(), store.Partition{}, make([]store.Delivery, 1), time.Now())
		d.stop()
		synctest.Wait()
		d.other.trim(0)
		returned, _ := d.work.finish()
		<-returned
		if d.handled != 1 {
			t.Errorf("%d deliveries were handled, want the one that the store does not have any more", d.handled)
		}
	})
}
