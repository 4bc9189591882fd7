package dueq_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// process is a client that can die: then none of its calls reaches the store any more.
type process struct {
	net    *network
	client *dueq.Client
	died   chan struct{}
}

// newProcess returns a process on the rig's store.
func (r *rig) newProcess() *process {
	net := &network{Store: r.net.Store}
	client := opened(r)(dueq.New(net, &dueq.Options{Logger: slog.New(slog.DiscardHandler)}))
	return &process{net: net, client: client, died: make(chan struct{})}
}

// die is called by one handler; it returns when the handler may return.
func (p *process) die(ctx context.Context) {
	p.net.set(everything(refused))
	close(p.died)
	<-ctx.Done()
}

// run consumes until the process dies, at most for d.
func (r *rig) run(p *process, d time.Duration, c dueq.ConsumeOptions, h dueq.Handler) {
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
			dueq.ConsumeOptions{Backoff: func(*dueq.Delivery, error) time.Duration { return time.Second }})
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
		c := dueq.ConsumeOptions{Concurrency: 1, Lease: 2 * time.Second}
		p, handled := r.newProcess(), 0
		r.run(p, time.Hour, c, func(ctx context.Context, _ *dueq.Delivery) error {
			if handled++; handled == 3 { // fast handlers make the consumer prefetch
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
		r.net.set(always(refused, "start"))
		handled := 0
		c := dueq.ConsumeOptions{Lease: 2 * time.Second}
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
			if op == "start" {
				_, err := r.net.Cancel(r.Context(), store.Partition{Queue: "work"}, store.CancelRequest{
					Caller: "m", Number: 1, Refs: []store.Ref{{ID: storeID(r, id)}},
				})
				r.must(err)
			}
			return works
		})
		handled := 0
		running := r.consume(r.q, func(context.Context, *dueq.Delivery) error { handled++; return nil }, dueq.ConsumeOptions{})
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
			got, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{Max: 2, Lease: time.Second, Wait: time.Second})
			r.must(err)
			if len(got) == 0 {
				r.Errorf("nothing is received in round %d", i)
			}
			r.sleep(2 * time.Second) // the leases run out
		}
		_, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{Max: 2})
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
		r.net.set(always(refused, "start"))
		got, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 2})
		r.must(err)
		if len(got) != 1 || got[0].ID != often {
			r.Errorf("received %v, want the one that need not be started", got)
		}
		if m := r.get(once); m.State != dueq.Ready || m.Failures != 0 {
			r.Errorf("%+v, want it released", m)
		}
	})
}

// crashUntilDrained starts one process after another until the queue is empty, and returns how many
// died. The handler of the message "poison" ends its process.
func (r *rig) crashUntilDrained(c dueq.ConsumeOptions, handle dueq.Handler) int {
	r.Helper()
	const most = 30
	for crashes := range most {
		p := r.newProcess()
		r.run(p, time.Minute, c, func(ctx context.Context, d *dueq.Delivery) error {
			if string(d.Body) != "poison" {
				return handle(ctx, d)
			}
			pass(5 * time.Millisecond) // meanwhile other handlers start
			p.die(ctx)
			return nil
		})
		if s := r.stats(); s.Ready+s.Scheduled+s.Leased == 0 {
			return crashes
		}
	}
	r.Fatalf("not drained by %d processes: %+v", most, r.stats())
	return 0
}

// work takes 20 ms, or until its process dies.
func work(ctx context.Context, _ *dueq.Delivery) error {
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestConsume_PoisonKillsOnlyItself(t *testing.T) {
	inBubble(t, func(r *rig) {
		const innocents, attempts = 100, 4
		var poison string
		for i := range innocents {
			if i == innocents/2 {
				poison = r.send(dueq.Message{Body: []byte("poison"), MaxAttempts: attempts})
			}
			r.send(dueq.Message{MaxAttempts: attempts})
		}
		crashes := r.crashUntilDrained(dueq.ConsumeOptions{Concurrency: 10, Lease: 2 * time.Second}, work)
		if m := r.get(poison); m.State != dueq.Dead || m.Failures != attempts {
			r.Errorf("the poison: %+v, want it dead", m)
		}
		if s := r.stats(); s.Dead != 1 || s.Counters.Acked != innocents {
			r.Errorf("%d dead, %d acked, want 1 and %d", s.Dead, s.Counters.Acked, innocents)
		}
		if crashes != attempts+1 {
			r.Errorf("%d processes died, want %d: the first delivery of the poison is not counted", crashes, attempts+1)
		}
	})
}

// With two attempts, the messages whose handlers ran beside the poison are on their last attempt
// after the second crash.
func TestConsume_PoisonBesideMessagesWithTwoAttempts(t *testing.T) {
	inBubble(t, func(r *rig) {
		const innocents = 9
		r.send(dueq.Message{Body: []byte("poison"), MaxAttempts: 6})
		for range innocents {
			r.send(dueq.Message{MaxAttempts: 2})
		}
		r.crashUntilDrained(dueq.ConsumeOptions{Concurrency: 10, Lease: 2 * time.Second}, work)
		if s := r.stats(); s.Dead != 1 || s.Counters.Acked != innocents {
			r.Errorf("%d dead, %d acked, want 1 and %d", s.Dead, s.Counters.Acked, innocents)
		}
	})
}

// crashed sends messages, and makes them crashed: their handlers were running when a process ended.
func (r *rig) crashed(n int) {
	r.Helper()
	for range n {
		r.send(dueq.Message{})
	}
	for range 2 { // at the first crash no start had been recorded
		got, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{Max: n, Lease: time.Second})
		r.must(err)
		if len(got) != n {
			r.Fatalf("%d received, want %d", len(got), n)
		}
		r.sleep(1500 * time.Millisecond)
	}
}

func TestConsume_CrashedMessagesRunOneAtATimeBesideOthers(t *testing.T) {
	inBubble(t, func(r *rig) {
		const crashed, fresh = 10, 50
		r.crashed(crashed)
		var mu sync.Mutex
		running, most, beside, withOne := 0, 0, 0, 0
		handler := func(_ context.Context, d *dueq.Delivery) error {
			risky := d.Failures > 0
			mu.Lock()
			if risky {
				running++
				most = max(most, running)
			} else if beside++; running > 0 {
				withOne++
			}
			mu.Unlock()
			if !risky {
				return nil
			}
			pass(2 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			running--
			return nil
		}
		var all []*consuming
		for range 2 { // of one client
			all = append(all, r.consume(r.q, handler, dueq.ConsumeOptions{Concurrency: 10}))
		}
		r.sleep(time.Second)
		for range fresh {
			r.send(dueq.Message{})
		}
		r.sleep(time.Minute)
		for _, c := range all {
			_, err := c.end()
			r.must(err)
		}
		if s := r.stats(); s.Counters.Acked != crashed+fresh || most != 1 || withOne == 0 {
			r.Errorf("%d acked, want %d; %d crashed ones ran at a time, want 1; %d of %d fresh ones ran beside one, want some",
				s.Counters.Acked, crashed+fresh, most, withOne, beside)
		}
	})
}

func TestConsume_LongHandlerDoesNotDelayCrashedMessages(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.crashed(3)
		began := make(chan struct{}, 3)
		running := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			began <- struct{}{}
			pass(time.Hour)
			return nil
		}, dueq.ConsumeOptions{Grace: 2 * time.Hour})
		r.sleep(9 * time.Second)
		if n := len(began); n != 1 {
			r.Errorf("%d handlers began within 9 s, want 1", n)
		}
		r.sleep(20 * time.Second)
		if n := len(began); n != 3 {
			r.Errorf("%d handlers began within 29 s, want all 3", n)
		}
		_, err := running.end()
		r.must(err)
	})
}
