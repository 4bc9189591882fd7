package dueqhttp

import (
	"context"
	"net/http"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// wanted is a request for messages.
type wanted struct {
	Max   *int   `json:"max"`
	Wait  string `json:"wait"`
	Lease string `json:"lease"`
}

func (w *wanted) options() (o dueq.ReceiveOptions, err error) {
	if w.Max != nil {
		if o.Max = *w.Max; o.Max < 1 {
			return o, outside("max", o.Max, "1 to %d", store.MaxBatch)
		}
	}
	if o.Wait, err = span("wait", w.Wait); err == nil {
		o.Lease, err = span("lease", w.Lease)
	}
	if err == nil && w.Lease != "" && o.Lease == 0 {
		err = outside("lease", o.Lease, "1s to 12h")
	}
	return o, err
}

// delivery is a message that the caller holds.
type delivery struct {
	Receipt        string            `json:"receipt"`
	ID             string            `json:"id"`
	Key            string            `json:"key,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	Attempt        int               `json:"attempt"`
	Token          int64             `json:"token"`
	Failures       int               `json:"failures"`
	Snoozes        int               `json:"snoozes"`
	MaxAttempts    int               `json:"max_attempts"`
	LastAttempt    bool              `json:"last_attempt"`
	IdempotencyKey string            `json:"idempotency_key"`
	Due            string            `json:"due"`
	SentAt         string            `json:"sent_at"`
	ExpiresAt      string            `json:"expires_at,omitempty"`
	Repeat         string            `json:"repeat,omitempty"`
	content
}

func newDelivery(d *dueq.Delivery) delivery {
	return delivery{
		Receipt: d.Receipt(), ID: d.ID, Key: d.Key, Headers: d.Headers, content: newContent(d.Body),
		Attempt: d.Attempt, Token: d.Token, Failures: d.Failures, Snoozes: d.Snoozes, MaxAttempts: d.MaxAttempts,
		LastAttempt: d.LastAttempt(), IdempotencyKey: d.IdempotencyKey(),
		Due: timestamp(d.Due), SentAt: timestamp(d.SentAt), ExpiresAt: timestamp(d.ExpiresAt), Repeat: d.Repeat().String(),
	}
}

// received is the answer to a request for messages.
type received struct {
	Deliveries []delivery `json:"deliveries"`
}

// serveReceive hands out messages that are due.
func serveReceive(c *call) error {
	q, err := c.queue()
	if err != nil {
		return err
	}
	var w wanted
	if err := c.read(&w); err != nil {
		return err
	}
	o, err := w.options()
	if err != nil {
		return err
	}
	if o.Wait > 0 {
		if err := c.enter(&c.waiting); err != nil {
			return err
		}
	}
	ctx, end := context.WithCancel(c.r.Context())
	defer end()
	defer context.AfterFunc(c.Stopping, end)()
	found, err := q.Receive(ctx, o)
	if c.Stopping.Err() != nil && ctx.Err() != nil {
		return c.empty() // what Receive had claimed, it has released
	}
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return c.empty()
	}
	return c.handOut(found)
}

// handOut writes deliveries. If the caller is not there any more, they are released, so that they
// need not wait for the end of their leases.
func (c *call) handOut(found []*dueq.Delivery) error {
	answer := received{make([]delivery, len(found))}
	for i, d := range found {
		answer.Deliveries[i] = newDelivery(d)
	}
	err := c.r.Context().Err()
	if err == nil {
		err = c.answer(http.StatusOK, answer)
	}
	if err == nil {
		err = http.NewResponseController(c.w).Flush()
	}
	// From here on the caller may have the answer, also if it has closed the connection since.
	if err != nil {
		c.giveBack(found)
	}
	return nil
}

// giveBackTimeout bounds the release of deliveries whose caller has gone.
const giveBackTimeout = 5 * time.Second

func (c *call) giveBack(found []*dueq.Delivery) {
	ctx, end := context.WithTimeout(context.WithoutCancel(c.r.Context()), giveBackTimeout)
	defer end()
	each(len(found), func(i int) {
		_ = found[i].Release(ctx, 0) // if that fails, it is delivered again when its lease has run out
	})
}
