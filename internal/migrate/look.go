package migrate

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/dueq-dev/dueq"
)

// remembered is how long a copy is recognized after it is gone from dueq: as long as possible.
const remembered = 24 * time.Hour

// bodies is how many messages are read and sent at a time, which bounds the memory of a copy.
const bodies = 200

// verdict is what became of a message: copied, before, or an index of copier.why.
type verdict int

const (
	copied verdict = -1 // by this run
	before verdict = -2 // by an earlier run
)

// digest is the hash of an id. Ids themselves would take several times the memory.
type digest [16]byte

func digestOf(id string) digest {
	sum := sha256.Sum256([]byte(id))
	return digest(sum[:])
}

// look is one look at the source.
type look struct {
	*copier
	seen   map[digest]verdict
	order  []string // of states
	states map[string]*State
}

func (l *look) state(name string) *State {
	s := l.states[name]
	if s == nil {
		s = &State{State: name}
		l.states[name], l.order = s, append(l.order, name)
	}
	return s
}

// page copies the messages of a page that are not known.
func (l *look) page(ctx context.Context, s set, page []item) error {
	var fresh []item
	for _, i := range page {
		d := digestOf(i.id)
		if _, twice := l.seen[d]; twice {
			continue
		}
		if v, is := l.known[d]; is {
			l.settle(s, d, v)
			continue
		}
		fresh = append(fresh, i)
	}
	for some := range slices.Chunk(fresh, bodies) {
		if err := l.transfer(ctx, s, some); err != nil {
			return err
		}
	}
	return nil
}

func (l *look) settle(s set, d digest, v verdict) {
	l.known[d], l.seen[d] = v, v
	switch state := l.state(s.state); v {
	case copied:
		state.Copied++
	case before:
		state.Before++
	default:
		state.Skipped++
		l.why[v].seen++
	}
}

// transfer reads messages from the source and sends them.
func (l *look) transfer(ctx context.Context, s set, items []item) error {
	entries, err := l.source.read(ctx, s, items)
	if err != nil {
		return l.unreachable(err)
	}
	var messages []dueq.Message
	var from []int // indexes of entries
	for i, e := range entries {
		switch {
		case e.skip != "":
			l.settle(s, digestOf(items[i].id), l.reason(e.skip, items[i].id, nil))
		case l.Type != "" && e.kind != l.Type:
			l.settle(s, digestOf(items[i].id), l.reason("of another type", items[i].id, nil))
		default:
			messages = append(messages, l.message(s, items[i], &e))
			from = append(from, i)
		}
	}
	results, err := l.To.SendBatch(ctx, messages)
	if err != nil {
		return err
	}
	for n, r := range results {
		i := from[n]
		v, err := l.verdict(items[i].id, r)
		if err != nil {
			return err
		}
		if v == copied {
			l.sent++
			l.lost.add(entries[i].lost)
		}
		l.settle(s, digestOf(items[i].id), v)
	}
	return nil
}

// message returns the message of dueq. Its DedupID is made of the source's id, so that it is
// stored once however often it is sent.
func (l *look) message(s set, i item, e *entry) dueq.Message {
	origin := l.Kind + ":" + l.Name + ":" + i.id
	m := dueq.Message{
		DedupID: "migrated:" + l.Prefix + ":" + origin + ":" + e.made, DedupFor: remembered,
		Headers: map[string]string{}, Body: e.body, MaxAttempts: max(1, min(e.attempts, mostAttempts)),
	}
	for name, value := range e.headers {
		m.Headers[name] = value
	}
	m.Headers[HeaderFrom] = origin
	if e.kind != "" {
		m.Headers[HeaderType] = e.kind
	}
	if s.due != nil {
		m.Due = s.due(i.score)
	}
	if l.Keys {
		m.Key = i.id
	}
	if e.attempts > mostAttempts {
		e.lost = append(e.lost, "attempts above 1000")
	}
	return m
}

const mostAttempts = 1000 // of dueq

// The headers that a copy gets.
const (
	HeaderFrom = "Migrated-From" // kind:queue:id
	HeaderType = "Migrated-Type" // the type of an asynq task, the name of a BullMQ job
)

// verdict returns what a send has done. An error ends the look: it is about the store.
func (l *look) verdict(id string, r dueq.SendResult) (verdict, error) {
	switch {
	case r.Err == nil && r.Deduplicated:
		return before, nil
	case r.Err == nil:
		return copied, nil
	case errors.Is(r.Err, dueq.ErrDuplicate):
		return l.reason("the key is taken", id, r.Err), nil
	case errors.Is(r.Err, dueq.ErrTooLarge), errors.Is(r.Err, dueq.ErrInvalid):
		why := "refused"
		if e, is := errors.AsType[*dueq.Error](r.Err); is && e.Field != "" {
			why += ": " + e.Field
		}
		return l.reason(why, id, r.Err), nil
	}
	return 0, r.Err
}

// reason returns the verdict of a message that is not copied; refused is the error of dueq, if it
// has refused the message.
func (l *look) reason(why, id string, refused error) verdict {
	for i := range l.why {
		if l.why[i].Reason == why {
			return verdict(i)
		}
	}
	r := Reason{Reason: why, Refused: refused != nil, First: id}
	if refused != nil {
		r.First += ": " + refused.Error()
	}
	l.why = append(l.why, r)
	return verdict(len(l.why) - 1)
}

// count asks the source how many messages it has in each state.
func (l *look) count(ctx context.Context) error {
	for _, s := range l.sets() {
		n, err := s.size(ctx, l.rdb)
		if err != nil {
			return l.unreachable(err)
		}
		state := l.state(s.state)
		state.Source += n
		if s.skip != "" {
			state.Skipped += n
			if n > 0 {
				l.why[l.reason(s.skip, "", nil)].seen += n
			}
		}
	}
	return nil
}
