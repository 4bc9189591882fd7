package series

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// Part has what is needed to compute the next occurrence after that of a delivery.
type Part struct {
	repeat string
	due    int64
}

// Of returns the Part of a delivery, nil if its message has no schedule.
func Of(d *store.Delivery) *Part {
	if d.Repeat == "" {
		return nil
	}
	return &Part{repeat: d.Repeat, due: d.Due}
}

// RetryAfter is after how long an occurrence is due again if this process cannot read the
// schedule, such as one with a zone that it does not have: another process may.
const RetryAfter = time.Minute

// changes is how often a settle computes the next due time again, at most, because the
// schedule has changed meanwhile.
const changes = 5

// Settle is Settle of s, but where a delivery has a part, Ack schedules the next occurrence,
// and so do Nack and Reject if this one fails for good. parts is nil if none has one.
// The codes are those of the verdict that was asked for.
func Settle(ctx context.Context, s store.Store, p store.Partition, r store.SettleRequest, parts []*Part) ([]store.Code, error) {
	var plain, recurring []int
	for i, part := range parts {
		if part != nil && goesOn(r.Verdict) {
			recurring = append(recurring, i)
		} else {
			plain = append(plain, i)
		}
	}
	if len(recurring) == 0 {
		return s.Settle(ctx, p, r)
	}
	b := &settling{store: s, partition: p, request: r, parts: slices.Clone(parts), codes: make([]store.Code, len(r.Items))}
	if len(plain) > 0 {
		if err := b.ask(ctx, r.Verdict, plain, r.Items); err != nil {
			return nil, err
		}
	}
	for range changes {
		if err := b.follow(ctx, recurring); err != nil {
			return nil, err
		}
		var err error
		if recurring, err = b.changed(ctx, recurring); err != nil {
			return nil, err
		}
		if len(recurring) == 0 {
			return b.codes, nil
		}
	}
	return nil, fmt.Errorf("the schedule has changed %d times meanwhile: %w", changes, store.ErrUnavailable)
}

// goesOn reports whether a verdict can end an occurrence, and does not say when the next one
// is due.
func goesOn(v store.Verdict) bool { return v == store.Ack || v == store.Nack || v == store.Reject }

// settling is the state of one Settle.
type settling struct {
	store     store.Store
	partition store.Partition
	request   store.SettleRequest
	parts     []*Part
	codes     []store.Code
}

// follow settles the items at some indexes, those that get the same verdict in one call.
func (b *settling) follow(ctx context.Context, indexes []int) error {
	now, err := b.store.Now(ctx, b.partition)
	if err != nil {
		return err
	}
	items, byVerdict := make([]store.Settlement, len(b.request.Items)), map[store.Verdict][]int{}
	for _, i := range indexes {
		var v store.Verdict
		v, items[i] = b.parts[i].settlement(b.request.Verdict, b.request.Items[i], now)
		byVerdict[v] = append(byVerdict[v], i)
	}
	for v, indexes := range byVerdict {
		if err := b.ask(ctx, v, indexes, items); err != nil {
			return err
		}
		if v == store.Again {
			b.acked(indexes)
		}
	}
	return nil
}

// acked turns the codes of Again into those of an ack: a cancelled message is acked.
func (b *settling) acked(indexes []int) {
	for _, i := range indexes {
		if b.codes[i] == store.CodeCancelled {
			b.codes[i] = store.CodeOK
		}
	}
}

// settlement returns the verdict and the settlement for the store, at an instant.
func (part *Part) settlement(v store.Verdict, item store.Settlement, now int64) (store.Verdict, store.Settlement) {
	due, err := part.next(now)
	switch {
	case errors.Is(err, ErrOver): // so the series ends with this occurrence
		return v, item
	case err != nil:
		return store.Snooze, store.Settlement{
			Receipt: item.Receipt, Delay: RetryAfter.Milliseconds(), Failure: fmt.Sprintf("the next occurrence is not known here: %.500s", err),
		}
	}
	item.Next = &store.Occurrence{Due: due, Repeat: part.repeat}
	if v == store.Ack {
		return store.Again, item
	}
	id := item.Receipt.ID
	item.Letter = route.FollowingID(id, int64(item.Receipt.Attempt), letterIndex, id.Partition())
	return v, item
}

// letterIndex is an index that no message of a Next has.
const letterIndex = -1

func (part *Part) next(now int64) (int64, error) {
	s, err := Parse(part.repeat)
	if err != nil {
		return 0, err
	}
	return s.Next(part.due, max(now, part.due))
}

// ask makes the call for the items at some indexes, and keeps their codes.
func (b *settling) ask(ctx context.Context, v store.Verdict, indexes []int, items []store.Settlement) error {
	r := store.SettleRequest{Verdict: v, Items: make([]store.Settlement, len(indexes))}
	for n, i := range indexes {
		r.Items[n] = items[i]
	}
	codes, err := b.store.Settle(ctx, b.partition, r)
	if err != nil {
		return err
	}
	for n, i := range indexes {
		b.codes[i] = codes[n]
	}
	return nil
}

// changed returns the indexes of messages whose schedule has changed, and reads their new
// schedules.
func (b *settling) changed(ctx context.Context, indexes []int) (again []int, err error) {
	for _, i := range indexes {
		if b.codes[i] != store.CodeChanged {
			continue
		}
		record, err := b.store.Get(ctx, b.partition, store.Ref{ID: b.request.Items[i].Receipt.ID})
		if errors.Is(err, store.ErrNotFound) {
			b.codes[i] = store.CodeGone
			continue
		}
		if err != nil {
			return nil, err
		}
		again, b.parts[i] = append(again, i), &Part{repeat: record.Repeat, due: b.parts[i].due}
	}
	return again, nil
}

// Action is what a consumer does with a delivery before a handler gets it.
type Action int

// The actions.
const (
	Run        Action = iota
	Skip              // it was missed: to be acked
	Spent             // its last lease ran out on its last attempt: to be rejected
	Unreadable        // its schedule cannot be read: to be delayed by RetryAfter
)

// Judge returns the action for a delivery that was handed out some time ago, and why its schedule
// is unreadable.
func Judge(d *store.Delivery, ago time.Duration) (Action, error) {
	if d.Repeat == "" {
		return Run, nil
	}
	s, err := Parse(d.Repeat)
	if err != nil {
		return Unreadable, err
	}
	if d.Failures >= d.MaxAttempts {
		return Spent, nil
	}
	if s.CatchUp {
		return Run, nil
	}
	next, err := s.Next(d.Due, d.Due)
	if err == nil && next <= d.Now+ago.Milliseconds() {
		return Skip, nil
	}
	return Run, nil
}

// SpentFailure is why a spent occurrence is rejected.
const SpentFailure = "lease ran out"
