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
// To test a whole consumer, with its goroutines and timers, use dueq.NewMemory inside
// testing/synctest instead: there time passes by itself as soon as everybody waits.
package dueqtest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// Client is a dueq.Client on a store in memory with a clock of its own. Hand the
// Client inside it to the code under test. What cannot be done fails the test.
type Client struct {
	*dueq.Client

	t     testing.TB
	store *embedded.Store
	clock *clock
}

// New returns an empty Client, closed at the end of the test. Its clock stands at
// 2026-01-01 00:00:00 UTC.
func New(tb testing.TB) *Client {
	tb.Helper()
	c := &clock{now: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)}
	s := embedded.NewMemory(embedded.Config{Now: c.Now})
	client, err := dueq.New(s, &dueq.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatalf("dueqtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := client.Close(); err != nil {
			tb.Errorf("dueqtest: close: %v", err)
		}
	})
	return &Client{Client: client, t: tb, store: s, clock: c}
}

// Now returns the time on the store's clock.
func (c *Client) Now() time.Time { return c.clock.Now() }

// Advance moves the clock forward at once. Messages that become due are delivered
// when they are asked for, by the methods below or by a consumer that is running.
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

// Deliver hands every message that is due now to h, in order, and settles it by what h
// returns, as Consume would; the backoff is 1 s, 2 s, 4 s and so on up to 1 h, without a
// random part. It returns how many messages there were. A message that h sends to the
// queue, due at once, waits for the next Deliver.
func (c *Client) Deliver(queue string, h dueq.Handler) int {
	c.t.Helper()
	due := c.receiveAll(queue)
	for _, d := range due {
		c.handle(h, d)
	}
	return len(due)
}

// AssertDelivered takes everything that is due now, acks it, and fails the test unless
// it is messages with these bodies in this order.
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

// AssertNothingDue fails the test if a message is due now. It takes none.
func (c *Client) AssertNothingDue(queue string) {
	c.t.Helper()
	page, err := c.Queue(queue).List(c.t.Context(), dueq.ListOptions{State: dueq.Ready, BodyLimit: 100})
	if err != nil && !errors.Is(err, dueq.ErrNotFound) {
		c.t.Fatalf("dueqtest: %v", err)
	}
	for _, r := range page.Records {
		c.t.Errorf("dueqtest: %q has a message that is due: %s %q", queue, r.ID, r.Body)
	}
}

// AssertScheduled fails the test unless the message, named with dueq.ID or dueq.Key,
// becomes due in exactly d.
func (c *Client) AssertScheduled(queue string, ref dueq.Ref, d time.Duration) {
	c.t.Helper()
	r, err := c.Queue(queue).Get(c.t.Context(), ref)
	switch {
	case err != nil:
		c.t.Errorf("dueqtest: %v", err)
	case r.State != dueq.Scheduled:
		c.t.Errorf("dueqtest: message %s is %s, want scheduled", ref, r.State)
	case r.At.Sub(c.Now()) != d:
		c.t.Errorf("dueqtest: message %s is due in %s, want %s", ref, r.At.Sub(c.Now()), d)
	}
}

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

// handle lets a panic through: it fails the test where it happened.
func (c *Client) handle(h dueq.Handler, d *dueq.Delivery) {
	c.t.Helper()
	ctx := c.t.Context()
	v := consumer.Judge(h(ctx, d), false, func() time.Duration { return backoff(d.Failures + 1) })
	if err := settle(ctx, d, v); err != nil && !errors.Is(err, dueq.ErrLeaseLost) && !errors.Is(err, dueq.ErrCancelled) {
		c.t.Fatalf("dueqtest: %v", err)
	}
}

func settle(ctx context.Context, d *dueq.Delivery, v consumer.Verdict) error {
	switch v.Verdict {
	case store.Nack:
		return d.Nack(ctx, time.Duration(v.Delay)*time.Millisecond, errors.New(v.Failure))
	case store.Reject:
		return d.Reject(ctx, errors.New(v.Failure))
	default:
		return d.Ack(ctx)
	}
}

// backoff is Consume's default without the random part.
func backoff(failures int) time.Duration {
	const most = 12 // doublings until an hour is passed
	return min(time.Second<<min(failures-1, most), time.Hour)
}

// clock is moved by hand.
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
