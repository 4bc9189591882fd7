package dueqhttp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/dueq-dev/dueq"
)

// settled is a request that settles deliveries.
type settled struct {
	Verdicts []verdict `json:"verdicts"`
}

// verdict settles or extends one delivery.
type verdict struct {
	Receipt  string        `json:"receipt"`
	Verdict  string        `json:"verdict"`
	Delay    string        `json:"delay"`    // nack, release, snooze, again
	Due      string        `json:"due"`      // again
	Reason   string        `json:"reason"`   // nack, snooze, reject
	Lease    string        `json:"lease"`    // extend
	TTL      string        `json:"ttl"`      // again
	Messages []nextMessage `json:"messages"` // next
	content                // again
}

// nextMessage is a message that is sent with an ack.
type nextMessage struct {
	Queue string `json:"queue"`
	message
}

// uses returns the members that a verdict may have besides the receipt; ok is false if there is
// no such verdict.
func uses(name string) (members []string, ok bool) {
	switch name {
	case "ack":
		return nil, true
	case "nack", "snooze":
		return []string{"delay", "reason"}, true
	case "release":
		return []string{"delay"}, true
	case "reject":
		return []string{"reason"}, true
	case "again":
		return []string{"delay", "due", "ttl", "body"}, true
	case "next":
		return []string{"messages"}, true
	case "extend":
		return []string{"lease"}, true
	}
	return nil, false
}

// given returns the members that are set besides receipt and verdict.
func (v *verdict) given() []string {
	var names []string
	for _, member := range []struct {
		name string
		set  bool
	}{
		{"delay", v.Delay != ""},
		{"due", v.Due != ""},
		{"reason", v.Reason != ""},
		{"lease", v.Lease != ""},
		{"ttl", v.TTL != ""},
		{"messages", v.Messages != nil},
		{"body", v.Body != nil || v.BodyBase64 != nil || v.BodyJSON != nil},
	} {
		if member.set {
			names = append(names, member.name)
		}
	}
	return names
}

// check returns an error for a verdict that is unknown or has members of another.
func (v *verdict) check() error {
	members, ok := uses(v.Verdict)
	if !ok {
		return noneOf("verdict", v.Verdict, "ack, nack, release, snooze, again, next, reject, extend")
	}
	for _, name := range v.given() {
		if !slices.Contains(members, name) {
			return invalid(name, "does not belong to the verdict %s", v.Verdict)
		}
	}
	return nil
}

// serveSettle settles deliveries, each with its own result.
func serveSettle(c *call) error {
	q, err := c.queue()
	if err != nil {
		return err
	}
	var s settled
	if err := c.read(&s); err != nil {
		return err
	}
	if err := checkItems("verdicts", len(s.Verdicts)); err != nil {
		return err
	}
	// Verdicts that arrive together are settled: a caller that hangs up does not undo them.
	ctx := context.WithoutCancel(c.r.Context())
	results := make([]outcome, len(s.Verdicts))
	rest := c.ackMany(ctx, q, s.Verdicts, results)
	each(len(rest), func(n int) { results[rest[n]] = c.settle(ctx, q, &s.Verdicts[rest[n]]) })
	return c.answerAll(results)
}

// manyAcks is how many acks of a request are enough for calls of their own. Fewer are combined with
// those of other requests at the same time, each in a goroutine that waits: with thousands of acks
// the garbage collector, which scans the stacks, would cost more than the acks.
const manyAcks = 20

// ackMany settles the acks of a request together, if they are many, and sets their results. It
// returns the indexes of the other verdicts. Of a message with several receipts only the first is
// acked here, because the errors of the others could not be distinguished.
func (c *call) ackMany(ctx context.Context, q *dueq.Queue, verdicts []verdict, results []outcome) (rest []int) {
	acks := make([]*dueq.Delivery, 0, len(verdicts))
	index := make(map[string]int, len(verdicts)) // of the id
	for i := range verdicts {
		var d *dueq.Delivery
		if v := &verdicts[i]; v.Verdict == "ack" && v.check() == nil {
			d, _ = q.Delivery(v.Receipt) // one that is invalid is reported with the others
		}
		if d == nil {
			rest = append(rest, i)
		} else if _, known := index[d.ID]; known {
			rest = append(rest, i)
		} else {
			acks, index[d.ID] = append(acks, d), i
		}
	}
	if len(acks) < manyAcks {
		return allIndexes(len(verdicts))
	}
	failed := errorsByID(dueq.AckAll(ctx, acks))
	for id, i := range index {
		if err := failed[id]; err != nil {
			results[i] = c.failed(err) //nolint:contextcheck // the call has the request, and so its context
		} else {
			results[i] = outcome{http.StatusOK, done{http.StatusOK, id}}
		}
	}
	return rest
}

func allIndexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// errorsByID returns the errors of [dueq.AckAll] by the ids of their messages.
func errorsByID(err error) map[string]error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	failed := map[string]error{}
	for _, e := range joined.Unwrap() {
		if of, ok := errors.AsType[*dueq.Error](e); ok {
			failed[of.ID] = e
		}
	}
	return failed
}

// done is the result of a verdict that was applied.
type done struct {
	Status int    `json:"status"`
	ID     string `json:"id"`
}

func (c *call) settle(ctx context.Context, q *dueq.Queue, v *verdict) outcome {
	if err := v.check(); err != nil {
		return c.failed(err) //nolint:contextcheck // the call has the request, and so its context
	}
	d, err := q.Delivery(v.Receipt)
	if err == nil {
		err = c.apply(ctx, d, v)
	}
	if err != nil {
		return c.failed(err) //nolint:contextcheck // the call has the request, and so its context
	}
	return outcome{http.StatusOK, done{http.StatusOK, d.ID}}
}

// apply applies a verdict that was checked.
func (c *call) apply(ctx context.Context, d *dueq.Delivery, v *verdict) error {
	to, err := schedule(v.Delay, v.Due)
	if err != nil {
		return err
	}
	switch v.Verdict {
	case "ack":
		return d.Ack(ctx)
	case "nack":
		if v.Delay == "" {
			return d.Settle(ctx, errors.New(v.Reason))
		}
		return d.Nack(ctx, to.Delay, errors.New(v.Reason))
	case "release":
		return d.Release(ctx, to.Delay)
	case "snooze":
		return d.Snooze(ctx, to.Delay, v.Reason)
	case "reject":
		return d.Reject(ctx, errors.New(v.Reason))
	case "extend":
		return extend(ctx, d, v.Lease)
	case "again":
		return v.again(ctx, d, to)
	}
	return c.next(ctx, d, v.Messages)
}

func extend(ctx context.Context, d *dueq.Delivery, lease string) error {
	span, err := span("lease", lease)
	if err == nil && (span < time.Second || span > 12*time.Hour) {
		err = outside("lease", span, "1s to 12h")
	}
	if err != nil {
		return err
	}
	return d.Extend(ctx, span)
}

func (v *verdict) again(ctx context.Context, d *dueq.Delivery, to dueq.Schedule) error {
	body, err := v.bytes()
	if err != nil {
		return err
	}
	ttl, err := span("ttl", v.TTL)
	if err != nil {
		return err
	}
	return d.Again(ctx, to, &dueq.AgainOptions{Body: body, TTL: ttl})
}

// next acks and sends messages, for which the caller must be allowed to send.
func (c *call) next(ctx context.Context, d *dueq.Delivery, messages []nextMessage) error {
	if len(messages) == 0 {
		return outside("messages", 0, "1 or more")
	}
	plain := make([]dueq.NextMessage, len(messages))
	for i := range messages {
		m, err := messages[i].plain()
		if err != nil {
			return err
		}
		if plain[i] = (dueq.NextMessage{Queue: messages[i].Queue, Message: m}); plain[i].Queue == "" {
			plain[i].Queue = d.Queue
		}
		if err := c.allow(Produce, plain[i].Queue); err != nil {
			return err
		}
	}
	return d.Next(ctx, plain...)
}
