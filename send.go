package dueq

import (
	"context"
	"errors"
	"strings"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// Send stores a message: it becomes scheduled, or ready if it has no delay. The queue
// is made if it is missing. Send returns the message's id.
//
// Errors after which nothing is stored, with an empty id: [ErrInvalid] and
// [ErrTooLarge] (Error.Field names the field), [ErrDuplicate] (Error.ID is the message
// that has the key), [ErrQueueFull]. After any other error ([ErrUnavailable],
// [ErrNotReplicated], that of ctx) the message may have been stored, and the id is
// returned: to find out, send the same message again with Message.ID set to it, which
// stores nothing twice. Costs one round trip.
func (q *Queue) Send(ctx context.Context, m Message) (id string, err error) {
	if err := q.guard(ctx); err != nil {
		return "", fail("send", q.name, m.ID, err)
	}
	settings, p, sent, err := q.prepare(ctx, m)
	if err == nil {
		err = sent.Validate(settings.MaxBody)
	}
	if err != nil {
		return "", fail("send", q.name, m.ID, err)
	}
	results, err := q.client.producer.Push(ctx, p, []store.Message{sent})
	r := q.sendResult(sent.ID, results, 0, err)
	return r.ID, r.Err
}

// sendResult tells what became of message i of a push.
func (q *Queue) sendResult(id store.ID, results []store.PushResult, i int, err error) SendResult {
	switch {
	case err != nil && definite(err):
		return SendResult{Err: fail("send", q.name, "", err)}
	case err != nil:
		return SendResult{ID: id.String(), Err: fail("send", q.name, id.String(), err)}
	case results[i].Code == store.CodeOK:
		return SendResult{ID: id.String()}
	case results[i].Code == store.CodeStale:
		return SendResult{ID: id.String(), Err: q.refusal("send", id, results[i])}
	default:
		return SendResult{Err: q.refusal("send", id, results[i])}
	}
}

// definite reports whether nothing was stored for certain.
func definite(err error) bool {
	for _, e := range []error{ErrInvalid, ErrTooLarge, ErrQueueFull, ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// prepare checks what can be checked without the store first, then learns the
// queue's settings and gives the message an id, if it has none.
func (q *Queue) prepare(ctx context.Context, m Message) (store.Settings, store.Partition, store.Message, error) {
	none := store.Partition{}
	sent, err := m.plain()
	if err != nil {
		return store.Settings{}, none, sent, err
	}
	settings, err := q.learn(ctx)
	if err != nil {
		return settings, none, sent, err
	}
	if len(m.Body) > settings.MaxBody { // it may have been raised
		if settings, err = q.configure(ctx, store.Change{}); err != nil {
			return settings, none, sent, err
		}
	}
	index, err := q.choose(&sent, settings.Partitions)
	if err != nil {
		return settings, none, sent, err
	}
	if sent.ID.IsZero() {
		sent.ID = route.NewID(index)
	}
	return settings, q.partition(index), sent, nil
}

// choose returns the partition of a message.
func (q *Queue) choose(m *store.Message, partitions int) (int, error) {
	switch {
	case m.Key != "":
		index := route.ByKey(m.Key, partitions)
		if !m.ID.IsZero() && m.ID.Partition() != index {
			return 0, invalid("id", "%s is of partition %d, its key of %d: it was not sent with this key", m.ID, m.ID.Partition(), index)
		}
		return index, nil
	case !m.ID.IsZero():
		if m.ID.Partition() >= partitions {
			return 0, invalid("id", "%s is of partition %d, the queue has %d", m.ID, m.ID.Partition(), partitions)
		}
		return m.ID.Partition(), nil
	default:
		return q.nextPartition(partitions), nil
	}
}

// defaultMaxAttempts is what a message without MaxAttempts gets: with the default
// backoff, 20 attempts take about half a day.
const defaultMaxAttempts = 20

// plain returns m as the store takes it, without an id if it has none, or what is
// wrong with it.
func (m *Message) plain() (store.Message, error) {
	due, delay, err := Schedule{Delay: m.Delay, Due: m.Due}.spans()
	if err != nil {
		return store.Message{}, err
	}
	if m.TTL < 0 {
		return store.Message{}, invalid("ttl", "%s is negative", m.TTL)
	}
	sent := store.Message{
		Key: m.Key, Headers: m.Headers, Body: m.Body, Due: due, Delay: delay,
		MaxAttempts: m.MaxAttempts, TTL: toSpan(m.TTL), Replace: m.Replace,
	}
	if m.MaxAttempts == 0 {
		sent.MaxAttempts = defaultMaxAttempts
	}
	if m.ID != "" {
		if sent.ID, err = parseID(m.ID); err != nil {
			return sent, err
		}
	}
	checked := sent
	if m.ID == "" {
		checked.ID[0] = 1 // made only when the partition is known
	}
	return sent, checked.Validate(store.MaxBody)
}

// parseID is store.ParseID with a hint for a likely mistake.
func parseID(text string) (store.ID, error) {
	if strings.HasPrefix(text, keyPrefix) {
		return store.ID{}, invalid("id", "a key belongs into Message.Key")
	}
	return store.ParseID(text)
}
