package dueq_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
)

// callers are calls of Receive that wait at the same time.
type callers struct {
	*rig
	calls sync.WaitGroup
	mu    sync.Mutex
	got   int
	late  time.Duration
}

// receive starts n callers that wait for one message each.
func (c *callers) receive(ctx context.Context, n int, wait time.Duration) {
	for range n {
		c.calls.Go(func() {
			got, err := c.q.Receive(ctx, dueq.ReceiveOptions{Wait: wait})
			if ctx.Err() == nil {
				c.must(err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.got += len(got)
			for _, d := range got {
				c.late = max(c.late, time.Since(d.Due))
				c.must(d.Ack(ctx))
			}
		})
	}
	synctest.Wait()
}

// polled returns how many claims are made while f runs.
func (c *callers) polled(f func()) int {
	before := c.net.count("claim")
	f()
	return c.net.count("claim") - before
}

func TestReceive_CostOfAMessageDoesNotGrowWithCallers(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := &callers{rig: r}
		r.must(r.direct.Create(r.Context(), dueq.Settings{}))
		c.receive(r.Context(), 1000, time.Minute)
		if n := c.polled(func() { r.sleep(20 * time.Second) }); n > 15 {
			r.Errorf("%d claims in 20 s, want about one every 2 s", n)
		}
		n := c.polled(func() {
			for range 10 {
				r.send(dueq.Message{})
				r.sleep(100 * time.Millisecond)
				r.send(dueq.Message{Delay: time.Second})
				r.sleep(1100 * time.Millisecond)
			}
		})
		if n > 80 || c.got != 20 || c.late > 5*time.Millisecond {
			r.Errorf("%d claims for %d messages, up to %s late: want 20, without delay, and at most 4 claims for each", n, c.got, c.late)
		}
		c.got = 0
		n = c.polled(func() {
			r.sendMany(980)
			r.sleep(100 * time.Millisecond)
		})
		if c.got != 980 || n > 1100 {
			r.Errorf("%d messages with %d claims, want 980 with one each", c.got, n)
		}
		c.calls.Wait()
	})
}

func TestReceive_NextCallerPollsWhenTheFirstGivesUp(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := &callers{rig: r}
		r.must(r.direct.Create(r.Context(), dueq.Settings{}))
		ctx, giveUp := context.WithCancel(r.Context())
		c.receive(ctx, 1, time.Minute)
		c.receive(r.Context(), 1, 5*time.Second)
		c.receive(r.Context(), 1, time.Minute)
		r.send(dueq.Message{Delay: 10 * time.Second})
		r.sleep(time.Second)
		giveUp()
		r.sleep(20 * time.Second) // the second has had its 5 s by then
		if c.got != 1 || c.late > 5*time.Millisecond {
			r.Errorf("%d messages, %s late, want one without delay", c.got, c.late)
		}
		r.send(dueq.Message{})
		c.calls.Wait()
	})
}

// A caller that ends during its claim leaves what it may have claimed to the others.
func TestReceive_CallerThatEndsDuringItsClaimLetsTheNextOnePoll(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := &callers{rig: r}
		r.must(r.direct.Create(r.Context(), dueq.Settings{}))
		ctx, giveUp := context.WithCancel(r.Context())
		c.receive(ctx, 1, time.Minute)
		c.receive(r.Context(), 1, time.Minute)
		r.net.set(once(hangs, "claim"))
		r.send(dueq.Message{})
		synctest.Wait()
		giveUp()
		r.sleep(time.Second)
		if c.got != 1 {
			r.Error("the other caller did not get the message")
		}
		r.send(dueq.Message{})
		c.calls.Wait()
	})
}

// A hint that arrives while a claim that finds nothing is in flight must not be missed.
func TestReceive_HintDuringAClaimIsNotMissed(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := &callers{rig: r}
		r.must(r.direct.Create(r.Context(), dueq.Settings{}))
		c.receive(r.Context(), 1, time.Minute)
		var hinted sync.Once
		r.net.afterClaim(func() {
			hinted.Do(func() {
				r.send(dueq.Message{})
				synctest.Wait() // until the hint has arrived
			})
		})
		c.calls.Wait()
		if c.got != 1 || c.late > 100*time.Millisecond {
			r.Errorf("%d messages, %s late, want one at once", c.got, c.late)
		}
	})
}
