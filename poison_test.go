package dueq_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// process is a client that can die: from then on nothing of it reaches the store.
type process struct {
	net    *network
	client *dueq.Client
	died   chan struct{}
}

// newProcess returns a process on the rig's store.
func (r *rig) newProcess() *process {
	net := &network{Store: r.net.Store}
	client := dueq.New(net, dueq.Config{Logger: slog.New(slog.DiscardHandler)})
	return &process{net: net, client: client, died: make(chan struct{})}
}

// die is to be called by one handler; it blocks as long as the handler is to.
func (p *process) die(ctx context.Context) {
	p.net.set(everything(refused))
	close(p.died)
	<-ctx.Done()
}

// run consumes until the process dies, or for as long as d.
func (r *rig) run(p *process, d time.Duration, c dueq.ConsumeConfig, h dueq.Handler) {
	r.Helper()
	running := r.consume(p.client.Queue("work"), h, c)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.died:
	case <-timer.C:
	}
	_, err := running.end()
	r.must(err)
	r.must(p.client.Close())
}

func TestConsume_StartIsRecordedForSuspectsAndLastAttemptsOnly(t *testing.T) {
	inBubble(t, func(r *rig) {
		for _, m := range []dueq.Message{{}, {MaxAttempts: 2}} {
			r.send(m)
		}
		failing := r.consume(r.q, func(context.Context, *dueq.Delivery) error { return context.Canceled },
			dueq.ConsumeConfig{Backoff: func(int) time.Duration { return time.Second }})
		synctest.Wait()
		if n := r.net.count("start"); n != 0 {
			r.Errorf("%d starts are recorded of fresh messages, want none", n)
		}
		r.sleep(1500 * time.Millisecond)
		if n := r.net.count("start"); n != 1 {
			r.Errorf("%d starts are recorded, want 1: the last attempt", n)
		}
		_, err := failing.end()
		r.must(err)
	})
}

func TestConsume_UnstartedMessagesOfADeadProcessLoseNoAttempt(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 50
		for range messages {
			r.send(dueq.Message{MaxAttempts: 1})
		}
		c := dueq.ConsumeConfig{Concurrency: 1, Lease: 2 * time.Second}
		p, handled := r.newProcess(), 0
		r.run(p, time.Hour, c, func(ctx context.Context, _ *dueq.Delivery) error {
			if handled++; handled == 3 { // quick handlers make the consumer prefetch
				pass(time.Millisecond) // the acks of the others arrive
				p.die(ctx)
			}
			return nil
		})
		if s := r.stats(); s.Leased < 10 {
			r.Fatalf("%d messages leased by the dead process, want prefetched ones", s.Leased)
		}
		var again tally
		living := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			again.add(d.ID)
			return nil
		}, c)
		r.sleep(time.Minute)
		_, err := living.end()
		r.must(err)
		if s := r.stats(); s.Dead != 1 || s.Counters.Acked != messages-1 || again.total() != messages-3 {
			r.Errorf("%d dead, %d acked, %d handled afterwards, want 1, %d, %d", s.Dead, s.Counters.Acked, again.total(), messages-1, messages-3)
		}
	})
}

func TestConsume_StartThatIsNotConfirmedRunsNoHandler(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{MaxAttempts: 1})
		r.net.set(always(refused, string(store.Start)))
		handled := 0
		c := dueq.ConsumeConfig{Lease: 2 * time.Second}
		running := r.consume(r.q, func(context.Context, *dueq.Delivery) error { handled++; return nil }, c)
		r.sleep(time.Minute)
		if m := r.get(id); handled != 0 || m.State == dueq.Dead || m.Failures != 0 {
			r.Errorf("handled %d times without a start, %+v", handled, m)
		}
		r.net.set(nil)
		r.sleep(time.Minute)
		if s := r.stats(); handled != 1 || s.Counters.Acked != 1 {
			r.Errorf("handled %d times, %d acked, want 1", handled, s.Counters.Acked)
		}
		_, err := running.end()
		r.must(err)
	})
}

func TestConsume_CancelledBeforeItsStartRunsNoHandler(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{MaxAttempts: 1})
		r.net.set(func(op string) fault {
			if op == string(store.Start) {
				_, err := r.net.Cancel(r.Context(), store.Partition{Queue: "work"}, []store.Ref{{ID: storeID(r, id)}})
				r.must(err)
			}
			return works
		})
		handled := 0
		running := r.consume(r.q, func(context.Context, *dueq.Delivery) error { handled++; return nil }, dueq.ConsumeConfig{})
		r.sleep(time.Second)
		if s := r.stats(); handled != 0 || s.Counters.Cancelled != 1 {
			r.Errorf("handled %d times, %d cancelled, want 0 and 1", handled, s.Counters.Cancelled)
		}
		_, err := running.end()
		r.must(err)
	})
}

func storeID(r *rig, text string) store.ID {
	r.Helper()
	id, err := store.ParseID(text)
	r.must(err)
	return id
}

func TestReceive_LastAttemptIsStartedWhenItIsReturned(t *testing.T) {
	inBubble(t, func(r *rig) {
		once, often := r.send(dueq.Message{MaxAttempts: 1}), r.send(dueq.Message{})
		for i := range 3 {
			got, err := r.direct.Receive(r.Context(), dueq.ReceiveConfig{Max: 2, Lease: time.Second, Wait: time.Second})
			r.must(err)
			if len(got) == 0 {
				r.Errorf("nothing is received in round %d", i)
			}
			r.sleep(2 * time.Second) // the leases run out
		}
		_, err := r.direct.Receive(r.Context(), dueq.ReceiveConfig{Max: 2})
		r.must(err)
		if m := r.get(once); m.State != dueq.Dead || m.Failures != 1 {
			r.Errorf("%+v, want dead after one failure", m)
		}
		if m := r.get(often); m.Failures != 2 || m.Attempt != 3 {
			r.Errorf("%+v, want 2 failures in 3 deliveries: the first was not known to have started", m)
		}
	})
}

func TestReceive_StartThatIsNotConfirmedReturnsNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		once, often := r.send(dueq.Message{MaxAttempts: 1}), r.send(dueq.Message{})
		r.net.set(always(refused, string(store.Start)))
		got, err := r.q.Receive(r.Context(), dueq.ReceiveConfig{Max: 2})
		r.must(err)
		if len(got) != 1 || got[0].ID != often {
			r.Errorf("received %v, want the one that need not be started", got)
		}
		if m := r.get(once); m.State != dueq.Ready || m.Failures != 0 {
			r.Errorf("%+v, want it released", m)
		}
	})
}
