package dueq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dueq-dev/dueq/internal/producer"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/internal/series"
	"github.com/dueq-dev/dueq/store"
)

// Send stores a message: it becomes scheduled, or ready if it has no delay. The queue is made if
// it is missing. Send returns the message's id, or the id of the message that was sent before
// with the same [Message].DedupID.
//
// Errors after which the message is not stored, with an empty id: [ErrInvalid] and [ErrTooLarge]
// (Error.Field names the field), [ErrDuplicate] (Error.Holder is the message that has the key),
// [ErrQueueFull]. After any other error ([ErrUnavailable], [ErrNotReplicated], that of ctx) the
// message may have been stored, and the id is returned: send the same message again with
// Message.ID set to that id, which does not store it twice (Message.ID says for how long). If ctx
// ends before the call is made, the message is not stored and the id is empty. If ctx has no
// deadline, Send returns ErrUnavailable when the store has not accepted the message within
// Options.SendTimeout.
//
// Concurrent sends to a partition are batched without added delay: while one call is in flight,
// the next batch collects. Each send keeps its own result and ctx. It costs one round trip,
// shared with the others of its batch, and may wait for up to one more until the call before has
// ended.
func (q *Queue) Send(ctx context.Context, m Message) (id string, err error) {
	if err := q.guard(ctx); err != nil {
		return "", fail("send", q.name, m.ID, err)
	}
	if q.client.wrapped == nil {
		r := q.sendObserved(ctx, &m)
		return r.ID, r.Err
	}
	results, err := q.sendWrapped(ctx, []Message{m})
	if err != nil {
		return "", err
	}
	return results[0].ID, results[0].Err
}

// send is Send without middleware and hooks.
func (q *Queue) send(ctx context.Context, m *Message) SendResult {
	settings, known := q.client.store.Known(q.name)
	if !known { // otherwise the producer limits the time of its calls
		bound, end := q.client.producer.Bound(ctx)
		defer end()
		ctx = bound
	}
	q.roundRobin.Begin()
	defer q.roundRobin.End()
	for try := 0; ; try++ {
		sent, err := m.plain() // first the checks that need no store
		if err == nil && (!known || len(m.Body) > settings.MaxBody) {
			settings, err = q.learnFor(ctx, len(m.Body))
		}
		if err == nil {
			err = q.prepare(ctx, m, &sent, &settings)
		}
		if err != nil {
			return SendResult{Err: fail("send", q.name, m.ID, q.client.producer.Explain(ctx, err))}
		}
		r := q.push(ctx, &sent, m.ID != "")
		if try == reroutes || !errors.Is(r.Err, store.ErrRepartitioned) {
			return r
		}
		settings, known = q.client.store.Known(q.name)
	}
}

// SendJSON sends m with the JSON encoding of v as its body, for a handler made with [JSON].
// Errors: [ErrInvalid] when v cannot be encoded, or when m already has a body; those of
// [Queue.Send].
func SendJSON[T any](ctx context.Context, q *Queue, v T, m Message) (id string, err error) {
	body, err := json.Marshal(v)
	switch {
	case err != nil:
		err = &Error{Field: "body", Err: fmt.Errorf("encode %T: %w: %w", v, err, ErrInvalid)}
	case len(m.Body) > 0:
		err = invalid("body", "%d bytes are given besides the value", len(m.Body))
	}
	if err != nil {
		return "", fail("send", q.name, m.ID, err)
	}
	m.Body = body
	return q.Send(ctx, m)
}

// reroutes is how often a message gets another partition because the number of partitions has
// changed.
const reroutes = 3

// push sends one message. If it repeats an earlier send, it does not store the message twice. While
// the queue grows, a message whose partition has changed is sent to the old one first.
func (q *Queue) push(ctx context.Context, m *store.Message, again bool) SendResult {
	r, moved := q.pushOnce(ctx, m, again)
	if moved {
		moveHome(m)
		r, _ = q.pushOnce(ctx, m, again)
	}
	return r
}

// pushOnce sends one message to the partition that its id has. moved: that has no message with its
// names, so it belongs to another one.
func (q *Queue) pushOnce(ctx context.Context, m *store.Message, again bool) (r SendResult, moved bool) {
	p := q.partition(m.ID.Partition())
	var o producer.Outcome
	known := false
	if again {
		o, known = q.client.producer.Recall(ctx, p, []store.Message{*m})[m.ID]
	}
	if !known {
		o = q.client.producer.Send(ctx, p, m)
	}
	r = q.sendResult(m.ID, o)
	if again && ctx.Err() != nil && errors.Is(r.Err, ctx.Err()) {
		r.ID = m.ID.String() // this try sent nothing, but the outcome of the first is still unknown
	}
	return r, o.Err == nil && o.Result.Code == store.CodeMoved
}

// moveHome makes a message that was to be stored in its old partition one for its new partition.
func moveHome(m *store.Message) {
	_, home := route.ByNames(m, m.Of)
	m.ID, m.OnlyHeld = route.InPartition(m.ID, home), false
}

// sendResult returns the result of a message.
func (q *Queue) sendResult(id store.ID, o producer.Outcome) SendResult {
	switch {
	case o.Err != nil && producer.Definite(o.Err):
		return SendResult{Err: fail("send", q.name, "", o.Err)}
	case o.Err != nil:
		return SendResult{ID: id.String(), Err: fail("send", q.name, id.String(), o.Err)}
	case o.Result.Code == store.CodeOK && !o.Result.Holder.IsZero(): // the message that was declared
		return SendResult{ID: o.Result.Holder.String()}
	case o.Result.Code == store.CodeOK:
		return SendResult{ID: id.String()}
	case o.Result.Code == store.CodeKnown:
		return SendResult{ID: o.Result.Holder.String(), Deduplicated: true}
	case o.Result.Code == store.CodeStale:
		return SendResult{ID: id.String(), Err: refusal("send", q.name, id.String(), o.Result)}
	case o.Result.Code == store.CodeConflict:
		return SendResult{Err: refusal("send", q.name, id.String(), o.Result)}
	default:
		return SendResult{Err: refusal("send", q.name, "", o.Result)}
	}
}

// prepare completes sent, which is m in the form of the store, from the queue's settings, and
// gives it an id if it has none.
func (q *Queue) prepare(ctx context.Context, m *Message, sent *store.Message, settings *store.Settings) error {
	m.fill(sent, settings)
	if err := q.identify(sent, settings); err != nil {
		return err
	}
	if err := q.schedule(ctx, sent); err != nil {
		return err
	}
	return sent.ValidateBody(settings.MaxBody)
}

// schedule sets the due time of a recurring message that has none to the next time of its
// schedule, by the clock of the store.
func (q *Queue) schedule(ctx context.Context, m *store.Message) error {
	if m.Repeat == "" || m.Due != 0 || m.Delay != 0 {
		return nil
	}
	s, err := series.Parse(m.Repeat)
	if err != nil {
		return err
	}
	now, err := q.client.store.Now(ctx, q.partition(m.ID.Partition()))
	if err != nil {
		return err
	}
	m.Due, err = s.Next(now, now)
	return over(err)
}

// fill sets the fields that m does not set from the queue's settings.
func (m *Message) fill(sent *store.Message, settings *store.Settings) {
	if m.MaxAttempts == 0 && settings.MaxAttempts != 0 {
		sent.MaxAttempts = settings.MaxAttempts
	}
	if m.DedupFor == 0 {
		sent.Remember = settings.DedupFor
	}
}

// learnFor is learn, but reads the settings again if a body is too large for the known ones: the
// limit may have been raised.
func (q *Queue) learnFor(ctx context.Context, body int) (store.Settings, error) {
	settings, err := q.learn(ctx)
	if err == nil && body > settings.MaxBody && body <= store.MaxBody {
		return q.read(ctx)
	}
	return settings, err
}

// identify gives a message its id, which has its partition, or checks the id that it has. While the
// queue grows, it is the partition that is asked first.
func (q *Queue) identify(m *store.Message, settings *store.Settings) error {
	m.Of = settings.Partitions
	named, home := route.ByNames(m, settings.Partitions)
	first := home
	if m.OnlyHeld = route.Moves(m, settings.From, settings.Partitions); m.OnlyHeld {
		_, first = route.ByNames(m, settings.From)
	}
	if m.ID.IsZero() {
		if !named {
			first = q.roundRobin.Next(settings.Partitions)
		}
		m.ID, m.New = q.client.ids.New(first), true
		return nil
	}
	index := m.ID.Partition()
	if named && index != home && index != first {
		return invalid("id", "%s was not sent with this key and dedup id: it is of another partition", m.ID)
	}
	if index >= settings.Partitions {
		return invalid("id", "%s is of partition %d, the queue has %d", m.ID, index, settings.Partitions)
	}
	if named {
		m.ID = route.InPartition(m.ID, first)
	}
	return nil
}

// defaultMaxAttempts is the MaxAttempts of a message that sets none: with [DefaultBackoff], 25
// attempts take about 20 days, so that an outage of a weekend makes no dead letters.
const defaultMaxAttempts = 25

// plain returns m in the form of the store, without an id if it has none, or an error if it is
// invalid.
func (m *Message) plain() (store.Message, error) {
	due, delay, err := Schedule{Delay: m.Delay, Due: m.Due}.spans()
	if err != nil {
		return store.Message{}, err
	}
	switch {
	case m.TTL < 0:
		return store.Message{}, negative("ttl", m.TTL)
	case m.DedupFor < 0:
		return store.Message{}, negative("dedup for", m.DedupFor)
	}
	repeat, err := m.Repeat.text()
	if err != nil {
		return store.Message{}, err
	}
	sent := store.Message{
		Key: m.Key, Headers: m.Headers, Body: m.Body, Due: due, Delay: delay,
		MaxAttempts: m.MaxAttempts, TTL: toSpan(m.TTL), Replace: m.Replace, Repeat: repeat, Remember: toSpan(m.DedupFor),
	}
	sent.DedupID = m.dedupID()
	if m.MaxAttempts == 0 {
		sent.MaxAttempts = defaultMaxAttempts
	}
	if m.ID != "" {
		if sent.ID, err = parseID(m.ID); err != nil {
			return sent, err
		}
	}
	return sent, sent.ValidateContent()
}

func (m *Message) dedupID() store.DedupID {
	if m.DedupID == "" {
		return store.DedupID{}
	}
	return store.NewDedupID(m.DedupID)
}

// parseID is store.ParseID, with a hint in the error for a likely mistake.
func parseID(text string) (store.ID, error) {
	if strings.HasPrefix(text, keyPrefix) {
		return store.ID{}, invalid("id", "a key belongs into Message.Key")
	}
	return store.ParseID(text)
}
