package producer

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/dueq-dev/dueq/internal/lane"
	"github.com/dueq-dev/dueq/store"
)

// keep is the maximum number of remembered pushes of unknown outcome. It bounds the memory that
// an outage costs.
const keep = 4 * Lanes

// never is a due time that every store refuses as too far ahead (the year 9999).
const never = 253402300799999

// push is a call of unknown outcome, with what is needed to repeat it.
type push struct {
	to       store.Partition
	messages []store.Message
	token    chan struct{}    // the goroutine that put the element in may use the fields below
	lane     *lane.Lane[none] // nil once the outcome is known
	results  []store.PushResult
	asked    map[store.ID]bool // those whose outcome has been returned
}

// Definite reports whether an error means for certain that nothing was stored.
func Definite(err error) bool {
	if _, ok := errors.AsType[notSentError](err); ok {
		return true
	}
	for _, definite := range []error{store.ErrInvalid, store.ErrTooLarge, store.ErrQueueFull, store.ErrRepartitioned} {
		if errors.Is(err, definite) {
			return true
		}
	}
	return false
}

func (p *Producer) setAside(l *lane.Lane[none], to store.Partition, messages []store.Message) {
	u := &push{to: to, messages: messages, token: make(chan struct{}, 1), lane: l, asked: map[store.ID]bool{}}
	p.mu.Lock()
	p.unknown = append(p.unknown, u)
	var oldest *push
	if len(p.unknown) > keep {
		oldest = p.unknown[0]
		p.unknown = slices.Delete(p.unknown, 0, 1)
	}
	p.mu.Unlock()
	if oldest == nil {
		return
	}
	select {
	case oldest.token <- struct{}{}: // never taken out again: the push cannot be repeated any more
		if oldest.lane != nil {
			p.destination(oldest.to).lanes.Give(oldest.lane)
		}
	default: // it is being repeated: its lane is not used again
	}
}

// Recall returns the results of messages that are sent again after an unknown outcome. It
// repeats their pushes with the old numbers, so that messages which were stored then, and may
// have been consumed since, are not stored again. Messages without a result have to be sent.
// Other messages of a repeated push, which are not sent again, are not stored by the
// repetition.
func (p *Producer) Recall(ctx context.Context, to store.Partition, messages []store.Message) map[store.ID]Outcome {
	pushes := p.unknownOf(to)
	if len(pushes) == 0 {
		return nil
	}
	byID := make(map[store.ID]*store.Message, len(messages))
	for i := range messages {
		byID[messages[i].ID] = &messages[i]
	}
	known := map[store.ID]Outcome{}
	for _, u := range pushes {
		again := u.among(byID)
		if len(again) == 0 {
			continue
		}
		err := p.resolve(ctx, u, again)
		for _, i := range again {
			switch {
			case err != nil:
				known[u.messages[i].ID] = Outcome{Err: err}
			case u.results[i].Code != store.CodeTooFar && u.results[i].Code != store.CodeMoved: // otherwise it was not stored, and has to be sent
				known[u.messages[i].ID] = Outcome{Result: u.results[i]}
			}
		}
	}
	return known
}

func (p *Producer) unknownOf(to store.Partition) []*push {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*push
	for _, u := range p.unknown {
		if u.to == to {
			all = append(all, u)
		}
	}
	return all
}

// among returns the indexes of u's messages that are sent again unchanged.
func (u *push) among(byID map[store.ID]*store.Message) []int {
	var again []int
	for i := range u.messages {
		m := &u.messages[i]
		if n := byID[m.ID]; n != nil && n.Key == m.Key && n.MaxAttempts == m.MaxAttempts && n.Repeat == m.Repeat &&
			bytes.Equal(n.Body, m.Body) && maps.Equal(n.Headers, m.Headers) {
			again = append(again, i)
		}
	}
	return again
}

// resolve repeats u unless its outcome is known. It is called when messages of u are sent again.
func (p *Producer) resolve(ctx context.Context, u *push, again []int) error {
	select {
	case u.token <- struct{}{}:
		defer func() { <-u.token }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if u.lane != nil {
		results, err := p.repeat(ctx, u, again)
		if err != nil {
			return err
		}
		p.destination(u.to).lanes.Give(u.lane)
		u.results, u.lane = results, nil
	}
	for _, i := range again {
		u.asked[u.messages[i].ID] = true
	}
	if len(u.asked) == len(u.messages) {
		p.forget(u)
	}
	return nil
}

// repeat makes the call again. If the first call was executed, the store returns its answer.
// If not, only the messages that are sent again may be stored: the others are replaced by
// messages that every store refuses, so that each result has the index of its message. When the queue
// has another number of partitions since then, they may belong to another one: they are stored here
// only in the place of messages that have their keys.
func (p *Producer) repeat(ctx context.Context, u *push, again []int) ([]store.PushResult, error) {
	d := p.destination(u.to)
	if err := p.enter(ctx, d); err != nil {
		return nil, p.ended(ctx) // not err, which says "not sent": the outcome of the first call is still unknown
	}
	defer d.leave()
	messages := make([]store.Message, len(u.messages))
	for i := range messages {
		messages[i] = store.Message{ID: u.messages[i].ID, Due: never, MaxAttempts: 1}
	}
	for _, i := range again {
		messages[i] = u.messages[i]
		messages[i].New = false
	}
	r := store.PushRequest{Producer: u.lane.Name, Number: u.lane.Number, Messages: messages}
	results, err := p.store.Push(ctx, u.to, r)
	if !errors.Is(err, store.ErrRepartitioned) {
		return results, err
	}
	for _, i := range again {
		messages[i].Of, messages[i].OnlyHeld = 0, true
	}
	return p.store.Push(ctx, u.to, r)
}

func (p *Producer) forget(u *push) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unknown = slices.DeleteFunc(p.unknown, func(other *push) bool { return other == u })
}
