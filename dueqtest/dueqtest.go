// Package dueqtest helps to test code that sends or handles messages, without a
// server and without waiting: its clock moves only when the test says so.
//
//	func TestUnpaidOrderIsCancelled(t *testing.T) {
//		q := dueqtest.New(t)
//		shop := NewShop(q.Client)
//		shop.PlaceOrder("42") // sends a message to "orders", due in 30 minutes
//
//		q.AssertNothingDue("orders")
//		q.Advance(30 * time.Minute)
//		q.Deliver("orders", shop.CancelIfUnpaid)
//		// and look at what the shop did
//	}
//
// [Client.Work] does that for all queues of a dueq.Worker.
//
// To test a whole consumer, with its goroutines and timers, use dueq.NewMemory inside
// testing/synctest instead: there time passes as soon as all goroutines wait.
package dueqtest

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// Client is a dueq.Client on a store in memory with its own clock. Pass the embedded dueq.Client
// to the code under test. A method that cannot do its work fails the test.
type Client struct {
	*dueq.Client

	t      testing.TB
	store  *embedded.Store
	faults *faults
	clock  *clock
}

// New returns an empty Client, closed at the end of the test. Its clock stands at the time of the
// call, in whole milliseconds. Code under test that computes a due time from time.Now is slightly
// ahead of that clock: advance the clock by a second more, or give the code [Client.Now].
func New(tb testing.TB) *Client {
	tb.Helper()
	return NewAt(tb, time.Now())
}

// NewAt is New with a clock that stands at an instant, cut to whole milliseconds.
func NewAt(tb testing.TB, now time.Time) *Client {
	tb.Helper()
	c := &clock{now: now.Round(0).Truncate(time.Millisecond)}
	s := embedded.NewMemory(embedded.Config{Now: c.Now})
	f := &faults{Store: s}
	client, err := dueq.New(f, &dueq.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatalf("dueqtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := client.Close(); err != nil {
			tb.Errorf("dueqtest: close: %v", err)
		}
	})
	return &Client{Client: client, t: tb, store: s, faults: f, clock: c}
}

// Now returns the time on the store's clock.
func (c *Client) Now() time.Time { return c.clock.Now() }

// Advance moves the clock forward at once. Messages that become due are delivered by the methods
// below or by a running consumer. If one Advance passes several times of a recurring message
// (dueq.Repeat), all but the last are missed: to see every occurrence, advance step by step and
// deliver after each.
func (c *Client) Advance(d time.Duration) {
	c.t.Helper()
	if d < 0 {
		c.t.Fatalf("dueqtest: advance by %s: the clock does not go back", d)
	}
	c.clock.advance(d)
	c.store.ClockMoved()
}

// Send sends a message and returns its id.
func (c *Client) Send(queue string, m dueq.Message) string {
	c.t.Helper()
	id, err := c.Queue(queue).Send(c.t.Context(), m)
	if err != nil {
		c.t.Fatalf("dueqtest: %v", err)
	}
	return id
}

// Deliver calls h with every message that is due now, in order, and settles it by the result, as
// Consume does: a panic is a failure, too, and is logged in the test. The backoff is the default
// one without its random part: n^4 + 15 s after the n-th failure, so 16 s, 31 s, 96 s and so on.
// It returns how many messages there were. A message that h sends to the queue, due at once,
// waits for the next Deliver.
func (c *Client) Deliver(queue string, h dueq.Handler) int {
	c.t.Helper()
	due := c.receiveAll(queue)
	for _, d := range due {
		c.handle(h, d)
	}
	return len(due)
}

// Work calls the handlers of w with every message that is due now, as Deliver does, one queue
// after the other in the order of their names. It returns how many messages there were. Messages
// that a handler sends wait for the next Work. w must not be running.
func (c *Client) Work(w *dueq.Worker) int {
	c.t.Helper()
	queues, err := c.Stats(c.t.Context())
	if err != nil {
		c.t.Fatalf("dueqtest: %v", err)
	}
	var due []*dueq.Delivery
	for _, q := range queues {
		if w.Handler(q.Queue) != nil {
			due = append(due, c.receiveAll(q.Queue)...)
		}
	}
	for _, d := range due {
		c.handle(w.Handler(d.Queue), d)
	}
	return len(due)
}

// AssertDelivered receives and acks all messages that are due now, and fails the test unless they
// have these bodies in this order.
func (c *Client) AssertDelivered(queue string, bodies ...string) {
	c.t.Helper()
	due := c.receiveAll(queue)
	got := make([]string, len(due))
	for i, d := range due {
		got[i] = string(d.Body)
		if err := d.Ack(c.t.Context()); err != nil {
			c.t.Fatalf("dueqtest: %v", err)
		}
	}
	if len(got) != len(bodies) {
		c.t.Errorf("dueqtest: %q delivered %q, want %q", queue, got, bodies)
		return
	}
	for i := range got {
		if got[i] != bodies[i] {
			c.t.Errorf("dueqtest: %q delivered %q, want %q", queue, got, bodies)
			return
		}
	}
}

// AssertNothingDue fails the test if a message is due now. It receives none.
func (c *Client) AssertNothingDue(queue string) {
	c.t.Helper()
	page, err := c.Queue(queue).List(c.t.Context(), dueq.ListOptions{Filter: dueq.Filter{State: dueq.Ready}, BodyLimit: 100})
	if err != nil && !errors.Is(err, dueq.ErrNotFound) {
		c.t.Fatalf("dueqtest: %v", err)
	}
	for _, r := range page.Records {
		c.t.Errorf("dueqtest: %q has a message that is due: %s %q", queue, r.ID, r.Body)
	}
}

// AssertEmpty fails the test if the queue has a message that is due, scheduled, held or dead.
func (c *Client) AssertEmpty(queue string) {
	c.t.Helper()
	stats, err := c.Queue(queue).Stats(c.t.Context())
	if err != nil && !errors.Is(err, dueq.ErrNotFound) {
		c.t.Fatalf("dueqtest: %v", err)
	}
	if stats.Scheduled+stats.Ready+stats.Leased+stats.Dead > 0 {
		c.t.Errorf("dueqtest: %q holds messages: %d scheduled, %d ready, %d leased, %d dead",
			queue, stats.Scheduled, stats.Ready, stats.Leased, stats.Dead)
	}
}

// AssertScheduled fails the test unless the message becomes due in d, or up to a second
// later: the code under test may have computed the due time from its own clock.
func (c *Client) AssertScheduled(queue string, ref dueq.Ref, d time.Duration) {
	c.t.Helper()
	r := c.assertState(queue, ref, dueq.Scheduled)
	if left := r.At.Sub(c.Now()); r.State == dueq.Scheduled && (left < d || left > d+time.Second) {
		c.t.Errorf("dueqtest: message %s is due in %s, want %s", ref, left, d)
	}
}

// AssertDead fails the test unless the message is dead with a last failure that contains a
// text.
func (c *Client) AssertDead(queue string, ref dueq.Ref, failure string) {
	c.t.Helper()
	r := c.assertState(queue, ref, dueq.Dead)
	if r.State == dueq.Dead && !strings.Contains(r.LastFailure, failure) {
		c.t.Errorf("dueqtest: message %s died of %q, want %q", ref, r.LastFailure, failure)
	}
}

// assertState returns the message, and fails the test unless it is in the given state.
func (c *Client) assertState(queue string, ref dueq.Ref, want dueq.State) dueq.Record {
	c.t.Helper()
	r, err := c.Queue(queue).Get(c.t.Context(), ref)
	switch {
	case err != nil:
		c.t.Errorf("dueqtest: %v", err)
	case r.State != want:
		c.t.Errorf("dueqtest: message %s is %s, want %s", ref, r.State, want)
	default:
		return r
	}
	return dueq.Record{}
}

// FailSends makes every send fail with err, which should wrap one of the errors of Send such
// as [dueq.ErrUnavailable], and stores nothing; nil: sends work again. A [dueq.Next] whose
// messages are stored with the ack fails as a whole: unless err refuses them, as
// [dueq.ErrDuplicate] and [dueq.ErrQueueFull] do, Deliver then leaves the message leased.
func (c *Client) FailSends(err error) { c.faults.set(&c.faults.send, err) }

// FailSettles makes every Ack, Next, Nack, Release, Reject and Extend fail with err, such as
// [dueq.ErrUnavailable] or [dueq.ErrLeaseLost], and changes nothing; nil: they work again.
// Deliver then leaves the message leased.
func (c *Client) FailSettles(err error) { c.faults.set(&c.faults.settle, err) }

func (c *Client) receiveAll(queue string) []*dueq.Delivery {
	c.t.Helper()
	var all []*dueq.Delivery
	for {
		some, err := c.Queue(queue).Receive(c.t.Context(), dueq.ReceiveOptions{Max: store.MaxBatch})
		if err != nil {
			c.t.Fatalf("dueqtest: %v", err)
		}
		if len(some) == 0 {
			return all
		}
		all = append(all, some...)
	}
}

func (c *Client) handle(h dueq.Handler, d *dueq.Delivery) {
	c.t.Helper()
	ctx := c.t.Context()
	verdict := c.call(h, d)
	if _, chosen := errors.AsType[*consumer.RetryError](verdict); verdict != nil && !chosen {
		verdict = dueq.RetryAfter(consumer.DefaultWait(d.Failures+1), verdict) // other verdicts have no backoff
	}
	err := d.Settle(ctx, verdict)
	if err != nil && !errors.Is(err, dueq.ErrLeaseLost) && !errors.Is(err, dueq.ErrCancelled) && !c.faults.made(err) {
		c.t.Fatalf("dueqtest: %v", err)
	}
}

// call calls the handler and returns a panic as an error.
func (c *Client) call(h dueq.Handler, d *dueq.Delivery) (err error) {
	c.t.Helper()
	defer func() {
		if v := recover(); v != nil {
			c.t.Logf("dueqtest: handler panicked: %v\n%s", v, debug.Stack())
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return h(c.t.Context(), d)
}

// clock moves only by advance.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
