package embedded

import (
	"context"
	"errors"
	"slices"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// follower is what a Next does with one of its messages.
type follower struct {
	plan
	known knowledge // then its plan means nothing
}

// knowledge says whether a partition has or had a message that is to be stored.
type knowledge int

const (
	unknown knowledge = iota
	present           // there is one with its id
	sent              // one with its id or its dedup id was there before, or is there
)

// next ends a delivery as an ack does, and stores the messages that follow it, unless one of
// them is refused. noSpace: the store is full.
func (p *partition) next(e *entry, item *store.Settlement, noSpace bool, now instant) store.Code {
	if p.movedAny(item.Messages) {
		return store.CodeMoved
	}
	followers, code := p.followersOf(e, item.Messages, noSpace, now)
	if code != store.CodeOK {
		return code
	}
	p.count(countAcked)
	p.finish(e, acked, now)
	for i, f := range followers {
		switch f.known {
		case unknown:
			p.carryOut(&item.Messages[i], f.plan, now)
		case sent:
			p.count(countDeduplicated)
		case present:
		}
	}
	return store.CodeOK
}

// movedAny reports whether messages with names were routed by another number of partitions.
func (p *partition) movedAny(messages []store.Message) bool {
	of := p.queue.load().Partitions
	return slices.ContainsFunc(messages, func(m store.Message) bool {
		return m.Of != 0 && m.Of != of && (m.Key != "" || !m.DedupID.IsZero())
	})
}

// followersOf returns what to do with the messages that follow e once e is gone, or the code
// of the first that is refused. No two of them have an id, key or dedup id in common, so they
// depend on each other only through MaxMessages. It changes nothing.
func (p *partition) followersOf(e *entry, messages []store.Message, noSpace bool, now instant) ([]follower, store.Code) {
	followers := make([]follower, len(messages))
	more := -1 // e is removed
	for i := range messages {
		m, f := &messages[i], &followers[i]
		if f.known = p.knows(m, e, now); f.known != unknown {
			continue
		}
		if noSpace {
			return nil, store.CodeFull
		}
		holder := p.byKey[m.Key]
		if holder == e {
			holder = nil
		}
		f.plan = p.planFor(m, holder, p.full(more), now)
		switch {
		case f.result.Code != store.CodeOK:
			return nil, f.result.Code
		case f.declares == nil && f.evicts == nil:
			more++
		}
	}
	return followers, store.CodeOK
}

// knows returns the knowledge of a message once e is gone; e is nil if none is removed.
func (p *partition) knows(m *store.Message, e *entry, now instant) knowledge {
	if other := p.byID.get(m.ID); other != nil && other != e {
		return present
	}
	id, ok := p.memory.sentBefore(m, now)
	if !ok || e != nil && id == e.id && e.remember() == 0 {
		return unknown
	}
	return sent
}

// followedBefore returns the code for a receipt that has no lease, or no longer has one.
func (p *partition) followedBefore(item *store.Settlement, now instant) store.Code {
	if p.byID.get(item.Receipt.ID) != nil {
		return store.CodeLeaseLost
	}
	for i := range item.Messages {
		m := &item.Messages[i]
		holder := p.byKey[m.Key]
		declared := m.Repeat != "" && holder != nil && holder.repeat() != ""
		if !declared && p.knows(m, nil, now) == unknown {
			return store.CodeLeaseLost
		}
	}
	return store.CodeGone
}

// nextDurably is change for Next. When the disk has no space for new messages, items that
// store none are settled still.
func (s *Store) nextDurably(ctx context.Context, part *partition, r store.SettleRequest) (codes []store.Code, err error) {
	noSpace := false
	step := func(now instant) {
		codes = make([]store.Code, len(r.Items))
		for i := range r.Items {
			item := &r.Items[i]
			if e := part.held(item.Receipt); e != nil {
				codes[i] = part.next(e, item, noSpace, now)
			} else {
				codes[i] = part.followedBefore(item, now)
			}
		}
	}
	err = s.change(ctx, part, nextEffort(&r), step)
	if errors.Is(err, store.ErrQueueFull) {
		noSpace = true
		err = s.change(ctx, part, settleEffort(&r, 0), step)
	}
	if err != nil {
		return nil, err
	}
	return codes, nil
}

func nextEffort(r *store.SettleRequest) effort {
	e := settleEffort(r, 0)
	e.use = wal.Add
	for i := range r.Items {
		e.size += messagesSize(r.Items[i].Messages)
		e.adds += int64(len(r.Items[i].Messages))
	}
	return e
}
