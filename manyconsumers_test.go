package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// Few of the consumers of a queue look at it, and what the others cost does not depend on their
// number. Each consumer of these tests is a process with a network of its own.

// staff are processes that consume the queue.
type staff struct {
	*rig
	handler dueq.Handler
	options dueq.ConsumeOptions
	all     []*hand
}

// hand is one process of a staff.
type hand struct {
	*process
	running *consuming
}

func (c *staff) join() *hand {
	p := c.newProcess()
	h := &hand{process: p, running: c.consume(p.client.Queue("work"), c.handler, c.options)}
	c.all = append(c.all, h)
	return h
}

func (c *staff) leave(h *hand) {
	c.Helper()
	c.all = slices.DeleteFunc(c.all, func(other *hand) bool { return other == h })
	_, err := h.running.end()
	c.must(err)
	c.must(h.client.Close())
}

func (c *staff) end() {
	c.Helper()
	for len(c.all) > 0 {
		c.all[0].net.set(nil)
		c.leave(c.all[0])
	}
}

// calls returns how many calls the staff has made, apart from those that keep it together.
func (c *staff) calls(ops ...string) (n int) {
	for _, h := range c.all {
		for _, op := range ops {
			n += h.net.count(op)
		}
	}
	return n
}

// lateness collects how late messages are handled.
type lateness struct {
	mu   sync.Mutex
	late []time.Duration
}

func (l *lateness) handle(_ context.Context, d *dueq.Delivery) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = append(l.late, time.Since(d.Due))
	return nil
}

// take returns the number of messages that were handled since the last call, and the highest
// lateness.
func (l *lateness) take() (n int, most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, late := range l.late {
		most = max(most, late)
	}
	n, l.late = len(l.late), nil
	return n, most
}

// settled is how long a staff takes to know who is on duty.
const settled = 40 * time.Second

func newStaff(r *rig, n int, handler dueq.Handler, options dueq.ConsumeOptions) *staff {
	r.Helper()
	r.must(r.direct.Create(r.Context(), dueq.Settings{}))
	c := &staff{rig: r, handler: handler, options: options}
	for range n {
		c.join()
	}
	r.sleep(settled)
	return c
}

func TestConsume_IdleCallsDoNotGrowWithConsumers(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := newStaff(r, 50, new(lateness).handle, dueq.ConsumeOptions{})
		before := c.calls("claim")
		r.sleep(1000 * time.Second)
		if n := c.calls("claim") - before; n < 150 || n > 500 {
			r.Errorf("%d claims of 50 idle consumers in 1000 s, want one each 10 s of the one on duty, of the standby, and of all others together", n)
		}
		c.end()
	})
}

func TestConsume_CallsOfALoneMessageDoNotGrowWithConsumers(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 200
		var seen lateness
		c := newStaff(r, 50, seen.handle, dueq.ConsumeOptions{})
		before := c.calls("claim", "ack")
		for range messages {
			r.send(dueq.Message{Delay: time.Second})
			r.sleep(500 * time.Millisecond)
		}
		r.sleep(5 * time.Second)
		if n := c.calls("claim", "ack") - before; n > 4*messages {
			r.Errorf("%d claims and acks of %d messages, want at most 4 each", n, messages)
		}
		if n, late := seen.take(); n != messages || late > 5*time.Millisecond {
			r.Errorf("%d messages, up to %s late, want %d without delay", n, late, messages)
		}
		c.end()
	})
}

func TestConsume_FloodReachesEveryConsumer(t *testing.T) {
	inBubble(t, func(r *rig) {
		const consumers, each = 50, 4
		var busy tally
		release := make(chan struct{})
		c := newStaff(r, consumers, func(_ context.Context, d *dueq.Delivery) error {
			busy.add(d.ID)
			<-release
			return nil
		}, dueq.ConsumeOptions{Concurrency: each})
		r.sendMany(2 * consumers * each)
		r.sleep(200 * time.Millisecond)
		if n := busy.total(); n != consumers*each {
			r.Errorf("%d handlers run 200 ms after a flood, want all %d", n, consumers*each)
		}
		close(release)
		r.sleep(time.Minute)
		c.end()
		if s := r.stats(); s.Counters.Acked != 2*consumers*each {
			r.Errorf("%d messages acked, want %d", s.Counters.Acked, 2*consumers*each)
		}
	})
}

// While the consumer on duty has no free handler, others are punctual for it.
func TestConsume_BusyConsumerHandsOverItsDuty(t *testing.T) {
	inBubble(t, func(r *rig) {
		var mu sync.Mutex
		hogged := 0
		var seen lateness
		release := make(chan struct{})
		c := newStaff(r, 5, func(ctx context.Context, d *dueq.Delivery) error {
			if d.Key != "long" {
				return seen.handle(ctx, d)
			}
			mu.Lock()
			hogged++
			mu.Unlock()
			<-release
			return nil
		}, dueq.ConsumeOptions{Concurrency: 1, NoPrefetch: true})
		r.send(dueq.Message{Key: "long"})
		r.sleep(time.Second)
		for range 100 {
			r.send(dueq.Message{Delay: 300 * time.Millisecond})
			r.sleep(500 * time.Millisecond)
		}
		if n, late := seen.take(); hogged != 1 || n != 100 || late > 50*time.Millisecond {
			r.Errorf("%d messages, up to %s late, want 100 within 50 ms", n, late)
		}
		close(release)
		c.end()
	})
}

// Messages that the consumer on duty has claimed and cannot start go to another one, although the
// first has permits to claim them again, because its batches are not full, and is faster.
func TestConsumeBatch_MessagesThatWaitTooLongGoToAnotherConsumer(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.direct.Create(r.Context(), dueq.Settings{}))
		release := make(chan struct{})
		var running []*consuming
		var processes []*process
		for i := range 2 {
			p := r.newProcess()
			processes = append(processes, p)
			running = append(running, r.consumeBatch(p.client.Queue("work"), func(_ context.Context, batch []*dueq.Delivery) error {
				if batch[0].Key == "long" {
					processes[1-i].net.set(always(slow, "claim"))
					<-release
				}
				return nil
			}, dueq.BatchOptions{Max: 100}))
		}
		r.sleep(settled)
		r.send(dueq.Message{Key: "long"})
		r.sleep(time.Second)
		r.sendMany(9)
		r.sleep(20 * time.Second)
		if s := r.stats(); s.Counters.Acked != 9 || s.Leased != 1 {
			r.Errorf("%d acked, %d leased, want 9 and the long one", s.Counters.Acked, s.Leased)
		}
		close(release)
		for i, c := range running {
			_, err := c.end()
			r.must(err)
			r.must(processes[i].client.Close())
		}
	})
}

// owner returns the process that is on duty: the one that claims a message.
func (c *staff) owner() *hand {
	c.Helper()
	before := map[*hand]int{}
	for _, h := range c.all {
		before[h] = h.net.count("ack")
	}
	c.send(dueq.Message{})
	c.sleep(100 * time.Millisecond)
	for _, h := range c.all {
		if h.net.count("ack") > before[h] {
			return h
		}
	}
	c.Fatal("nobody has handled a message")
	return nil
}

func TestConsume_HungConsumerOnDutyDelaysByTwoSeconds(t *testing.T) {
	inBubble(t, func(r *rig) {
		var seen lateness
		c := newStaff(r, 10, seen.handle, dueq.ConsumeOptions{})
		hung := c.owner()
		r.sleep(3 * time.Second)
		hung.net.set(everything(hangs))
		seen.take()
		for range 60 {
			r.send(dueq.Message{Delay: 700 * time.Millisecond})
			r.sleep(time.Second)
		}
		r.sleep(2 * time.Second)
		if n, late := seen.take(); n != 60 || late > 2*time.Second {
			r.Errorf("%d messages, up to %s late, want 60 within 2 s", n, late)
		}
		// By now another is on duty.
		for range 20 {
			r.send(dueq.Message{Delay: 700 * time.Millisecond})
			r.sleep(time.Second)
		}
		if n, late := seen.take(); n != 20 || late > 5*time.Millisecond {
			r.Errorf("%d messages, up to %s late, want 20 without delay", n, late)
		}
		c.end()
	})
}

// A process that crashes again and again, each time with another name, does not delay the messages of
// one that is well.
// The others look at a quiet queue every 10 s only, so the hint of the message must reach the standby.
func TestConsume_HungConsumerOnDutyOfAQuietQueueDelaysByTwoSeconds(t *testing.T) {
	inBubble(t, func(r *rig) {
		var seen lateness
		c := newStaff(r, 10, seen.handle, dueq.ConsumeOptions{})
		for range 6 {
			hung := c.owner()
			r.sleep(time.Minute)
			seen.take()
			hung.net.set(everything(hangs))
			r.send(dueq.Message{})
			r.sleep(time.Minute)
			if n, late := seen.take(); n != 1 || late > 2*time.Second {
				r.Errorf("%d messages, %s late, want one within 2 s", n, late)
			}
			hung.net.set(nil)
		}
		c.end()
	})
}

func TestConsume_CrashingProcessDoesNotDelayOthers(t *testing.T) {
	inBubble(t, func(r *rig) {
		var seen lateness
		c := newStaff(r, 1, seen.handle, dueq.ConsumeOptions{})
		var crashed []*hand
		for range 60 {
			h := c.join()
			r.sleep(500 * time.Millisecond)
			h.net.set(everything(hangs))
			crashed = append(crashed, h)
			r.send(dueq.Message{Delay: 200 * time.Millisecond})
			r.sleep(time.Second)
		}
		if n, late := seen.take(); n != 60 || late > 5*time.Millisecond {
			r.Errorf("%d messages, up to %s late, want 60 without delay", n, late)
		}
		for _, h := range crashed {
			h.net.set(nil)
		}
		c.end()
	})
}

// A deployment replaces one consumer after the other.
func TestConsume_DutyMovesWithoutDelayWhenConsumersStop(t *testing.T) {
	inBubble(t, func(r *rig) {
		var seen lateness
		c := newStaff(r, 6, seen.handle, dueq.ConsumeOptions{})
		ctx, stop := context.WithCancel(r.Context())
		var sending sync.WaitGroup
		sent := 0
		sending.Go(func() {
			for ctx.Err() == nil {
				if _, err := r.direct.Send(context.WithoutCancel(ctx), dueq.Message{Delay: 100 * time.Millisecond}); err != nil {
					r.Error(err)
				}
				sent++
				pass(70 * time.Millisecond)
			}
		})
		for range 12 {
			c.leave(c.all[0])
			r.sleep(3 * time.Second)
			c.join()
			r.sleep(3 * time.Second)
		}
		stop()
		sending.Wait()
		r.sleep(2 * time.Second)
		if n, late := seen.take(); n != sent || late > 20*time.Millisecond {
			r.Errorf("%d of %d messages, up to %s late, want all within 20 ms", n, sent, late)
		}
		c.end()
	})
}

// All consumers end when their queue is deleted, also those that do not look at it.
func TestConsume_AllNoticeThatTheQueueIsDeleted(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := newStaff(r, 20, new(lateness).handle, dueq.ConsumeOptions{})
		r.must(r.spared.DeleteQueue(r.Context(), "work", nil))
		r.sleep(time.Second)
		for _, h := range c.all {
			select {
			case err := <-h.running.done:
				if !errors.Is(err, dueq.ErrNotFound) {
					r.Errorf("a consumer of a deleted queue ends with %v, want not found", err)
				}
			default:
				r.Error("a consumer of a deleted queue goes on")
			}
			h.running.stop()
			r.must(h.client.Close())
		}
	})
}

// liar is a store that answers questions about duties at random.
type liar struct {
	store.Store
	mu     sync.Mutex
	random *rand.Rand
}

func (l *liar) Duties(ctx context.Context, r []store.DutyRequest) ([]store.Duties, error) {
	all, err := l.Store.Duties(ctx, r)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range all {
		if l.random.IntN(2) == 0 {
			continue
		}
		all[i].Consumers = 1 + l.random.IntN(5)
		all[i].Index = l.random.IntN(all[i].Consumers+1) - 1
		for p := range all[i].Owners {
			all[i].Owners[p] = l.random.IntN(all[i].Consumers)
		}
	}
	return all, err
}

// Processes come, go, die, hang and disagree about their duties. That delays messages and costs calls,
// and no message is lost.
func TestConsume_WrongDutiesLoseNothing(t *testing.T) {
	first := rand.Uint64N(1 << 20)
	for i := range uint64(25) {
		t.Run(fmt.Sprint("seed ", first+i), func(t *testing.T) {
			inBubble(t, func(r *rig) { r.disagree(first + i) })
		})
	}
}

func (r *rig) disagree(seed uint64) {
	r.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	var seen lateness
	r.net.Store = &liar{Store: r.net.Store, random: rand.New(rand.NewPCG(seed, 1))} // of the processes that newProcess makes
	c := newStaff(r, 1+random.IntN(4), seen.handle, dueq.ConsumeOptions{Concurrency: 1 + random.IntN(3), Lease: 2 * time.Second})
	sent := 0
	for range 60 {
		var some *hand
		if len(c.all) > 1 { // the first is never disturbed
			some = c.all[1+random.IntN(len(c.all)-1)]
		}
		switch what := random.IntN(8); {
		case what == 0 && len(c.all) < 8:
			c.join()
		case what == 1 && some != nil:
			some.net.set(nil)
			c.leave(some)
		case what == 2 && some != nil:
			some.net.set(everything(hangs))
		case what == 3 && some != nil:
			some.net.set(everything(refused))
		case what == 4 && some != nil:
			some.net.set(nil)
		default:
			for range 1 + random.IntN(5) {
				r.send(dueq.Message{Delay: time.Duration(random.IntN(3000)) * time.Millisecond})
				sent++
			}
		}
		r.sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
	}
	r.sleep(5 * time.Minute)
	n, _ := seen.take()
	if s := r.stats(); n < sent || s.Counters.Acked != int64(sent) {
		r.Errorf("%d messages handled and %d acked of %d", n, s.Counters.Acked, sent)
	}
	c.end()
}

func TestMembers_ShowsWhoIsOnDuty(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := newStaff(r, 2, new(lateness).handle, dueq.ConsumeOptions{Name: "worker"})
		c.join()
		r.sleep(time.Second)
		members, err := r.direct.Members(r.Context())
		r.must(err)
		duties, trials := 0, 0
		for _, m := range members {
			duties += len(m.OnDuty)
			if m.Trial {
				trials++
			}
			if !strings.HasPrefix(m.Name, "worker-") || m.Client == "" || m.Trial && len(m.OnDuty) > 0 {
				r.Errorf("member %+v", m)
			}
		}
		if len(members) != 3 || duties != 1 || trials != 1 {
			r.Errorf("%d members, %d on duty, %d on trial, want 3, 1, 1: %+v", len(members), duties, trials, members)
		}
		c.end()
		members, err = r.direct.Members(r.Context())
		r.must(err)
		if len(members) != 0 {
			r.Errorf("members %+v after all have stopped", members)
		}
	})
}
