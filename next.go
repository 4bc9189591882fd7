package dueq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// nextFor is for how long the messages of a Next are remembered at least, unless they say
// otherwise: in that time a consumer that has crashed is expected to run the handler again.
const nextFor = time.Hour

// NextMessage is a message that [Next] sends. Message.ID must be empty. Message.DedupFor is by
// default that of its queue, or an hour if that is more.
type NextMessage struct {
	Queue string // "": the queue of the delivery
	Message
}

// Next returns a handler's error that says "done, and send these": the messages are sent,
// then the delivery is acked. Their ids are made of the id of this message, its occurrence
// (see [Again]) and their place among messages, so that a second run of the handler, after a
// crash or a lost ack, sends the same ids: what was stored, with whatever content, is not
// stored twice, as long as it is there and for another DedupFor, an hour by default, after it is
// gone. So a crash neither loses a message nor doubles one whose handler runs again within that
// hour. Record.SentAt of such a message is that of this one.
//
// If a message is not stored, the delivery fails with the reason (of which [ErrDuplicate]
// and [ErrTooLarge] are examples), also when others are: they are recognized when the handler
// runs again. The sends end with the handler's context. Without messages, Next returns nil,
// which acks.
func Next(messages ...NextMessage) error {
	for i := range messages {
		if messages[i].ID != "" {
			return invalid("id", "%.40q of message %d: Next makes the ids", messages[i].ID, i)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return &nextError{messages}
}

// nextError acks a message and sends others.
type nextError struct{ messages []NextMessage }

func (e *nextError) Error() string { return fmt.Sprintf("next: %d messages", len(e.messages)) }

// Next sends messages, then acks the delivery. See the verdict [Next]. Errors: those of
// [Queue.Send], after which the delivery is held still and a call with the same messages sends
// none of them twice; those of Ack.
func (d *Delivery) Next(ctx context.Context, messages ...NextMessage) error {
	return d.settleBy(ctx, string(store.Ack), Next(messages...))
}

// send sends the messages that follow a delivery, in a batch for each queue.
func (d *Delivery) send(ctx context.Context, messages []NextMessage) error {
	if d.holder == nil {
		return nil // the ack that follows reports it
	}
	places := map[string][]int{}
	var names []string
	for i := range messages {
		name := messages[i].Queue
		if name == "" {
			name = d.Queue
		}
		if places[name] == nil {
			names = append(names, name)
		}
		places[name] = append(places[name], i)
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, d.sendTo(ctx, d.queue.client.Queue(name), messages, places[name]))
	}
	return errors.Join(errs...)
}

// sendTo sends those of the messages that are for a queue.
func (d *Delivery) sendTo(ctx context.Context, q *Queue, messages []NextMessage, places []int) error {
	if err := q.guard(ctx); err != nil {
		return fail("send", q.name, "", err)
	}
	parent, err := store.ParseID(d.ID)
	if err != nil {
		return err
	}
	settings, err := q.learn(ctx)
	if err != nil {
		return fail("send", q.name, "", err)
	}
	batch := make([]Message, len(places))
	for n, i := range places {
		m := messages[i].Message
		named, partition := route.ByNames(&store.Message{Key: m.Key, DedupID: m.dedupID()}, settings.Partitions)
		if !named {
			partition = parent.Partition() % settings.Partitions
		}
		if m.DedupFor == 0 {
			m.DedupFor = max(nextFor, fromSpan(settings.DedupFor))
		}
		m.ID = route.FollowingID(parent, d.Token-int64(d.Attempt), i, partition).String()
		batch[n] = m
	}
	results, err := q.SendBatch(ctx, batch)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil && !sentBefore(r.Err) {
			return r.Err
		}
	}
	return nil
}

// sentBefore reports whether a message was refused because another one has its id, which was
// made for it alone: an earlier run of the handler has sent it with other content.
func sentBefore(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Field == "id" && errors.Is(err, ErrDuplicate)
}
