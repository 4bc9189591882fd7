package dueq_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// finishInOutage runs a consumer whose handlers all finish in an outage of some length,
// and returns how often each message was handled.
func (r *rig) finishInOutage(f fault, outage time.Duration, c dueq.ConsumeOptions) *tally {
	r.Helper()
	_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, c.Concurrency))
	r.must(err)
	var started sync.WaitGroup
	started.Add(c.Concurrency)
	seen := &tally{}
	// One handler more than there are messages, so that a claim is always possible.
	c.Concurrency++
	consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
		if seen.add(d.ID) == 1 {
			started.Done()
			started.Wait()
			r.net.set(everything(f))
		}
		return nil
	}, c)
	r.sleep(outage)
	r.net.set(nil)
	r.sleep(2 * time.Minute)
	_, err = consumer.end()
	r.must(err)
	return seen
}

func TestConsume_FinishedMessagesAreNotRepeatedAfterAnOutage(t *testing.T) {
	t.Parallel()
	const messages, lease = 50, 20 * time.Second
	for name, f := range map[string]fault{"refused": refused, "hangs": hangs} {
		// Which call arrives first depends on the instant at which the store is back.
		for outage := lease + lease/20; outage < 2*lease-6*time.Second; outage += 650 * time.Millisecond {
			t.Run(fmt.Sprint(name, " for ", outage), func(t *testing.T) {
				inBubble(t, func(r *rig) {
					seen := r.finishInOutage(f, outage, dueq.ConsumeOptions{Concurrency: messages, Lease: lease})
					if c := r.stats().Counters; seen.total() != messages || c.Acked != messages || c.Delivered != messages || c.LeaseLost != 0 {
						r.Errorf("%d messages handled %d times, %+v: want each handled once, and no lease lost", seen.distinct(), seen.total(), c)
					}
				})
			})
		}
	}
}

func TestConsume_StopInAnOutageSettlesWhenItIsOver(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages, lease = 50, 20 * time.Second
		_, err := r.direct.SendBatch(r.Context(), make([]dueq.Message, messages))
		r.must(err)
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			r.net.set(everything(refused))
			return nil
		}, dueq.ConsumeOptions{Concurrency: messages, Lease: lease, Grace: time.Minute})
		r.sleep(lease + lease/2)
		time.AfterFunc(5*time.Second, func() { r.net.set(nil) })
		took, err := consumer.end()
		r.must(err)
		if c := r.stats().Counters; c.Acked != messages || c.LeaseLost != 0 || took > 10*time.Second {
			r.Errorf("%+v, stopped in %s: want all acked when the store is back", c, took)
		}
	})
}

// A claim puts back every lease that has run out. A consumer whose extensions fail must not make a
// claim that puts back the messages of its own handlers.
func TestConsume_OwnClaimsDoNotEndLeasesOfRunningHandlers(t *testing.T) {
	inBubble(t, func(r *rig) {
		const lease = 10 * time.Second
		r.send(dueq.Message{})
		r.net.set(always(refused, "extend"))
		var seen tally
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			pass(lease + lease/2) // does not listen
			return nil
		}, dueq.ConsumeOptions{Lease: lease})
		r.sleep(time.Minute)
		if c := r.stats().Counters; seen.total() != 1 || c.Acked != 1 || c.LeaseLost != 0 {
			r.Errorf("handled %d times, %+v: want it acked at its first delivery, because no other consumer has claimed", seen.total(), c)
		}
		_, err := consumer.end()
		r.must(err)
	})
}

// A handler that hangs is given up one lease after its lease has ended.
func TestConsume_HungHandlerWithoutExtensionsDoesNotStopClaims(t *testing.T) {
	inBubble(t, func(r *rig) {
		const lease = 10 * time.Second
		hung := r.send(dueq.Message{})
		r.net.set(always(refused, "extend"))
		var seen tally
		hold := make(chan struct{})
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			if seen.add(d.ID) == 1 && d.ID == hung {
				<-hold
			}
			return nil
		}, dueq.ConsumeOptions{Lease: lease})
		r.sleep(lease + lease/2)
		next := r.send(dueq.Message{})
		r.sleep(lease)
		if seen.of(hung) != 2 || seen.of(next) != 1 {
			r.Errorf("the message of the hung handler was started %d times, the next %d: want 2 and 1", seen.of(hung), seen.of(next))
		}
		close(hold)
		_, err := consumer.end()
		r.must(err)
	})
}

// A verdict is retried for one more lease after the end of the lease, at least for 10 s. Then the
// consumer takes another delivery.
func TestConsume_LongOutageRepeatsFinishedMessages(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages, lease = 50, 5 * time.Second
		seen := r.finishInOutage(refused, 3*lease+lease/2, dueq.ConsumeOptions{Concurrency: messages, Lease: lease})
		if c := r.stats().Counters; seen.total() != 2*messages || c.Acked != messages || c.LeaseLost != messages {
			r.Errorf("handled %d times, %+v: want a second delivery of each", seen.total(), c)
		}
	})
}

func TestConsume_VerdictsThatNeverSucceedDoNotStopClaims(t *testing.T) {
	inBubble(t, func(r *rig) {
		const lease = 5 * time.Second
		r.net.set(always(refused, "nack"))
		bad := r.send(dueq.Message{})
		var seen tally
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			if d.ID == bad {
				return errNoLuck
			}
			return nil
		}, dueq.ConsumeOptions{Lease: lease})
		r.sleep(2 * lease) // until the lease of the last extension is over
		const others = 20
		for range others {
			r.send(dueq.Message{})
		}
		r.sleep(3 * lease)
		if n := seen.distinct() - 1; n != others {
			r.Errorf("%d of %d other messages handled", n, others)
		}
		if seen.of(bad) < 2 {
			r.Error("the message whose nack is refused was not delivered again")
		}
		r.net.set(nil)
		_, err := consumer.end()
		r.must(err)
	})
}
