package batch

import (
	"context"
	"runtime"
	"slices"
	"time"
)

// serve makes calls until nobody waits.
func (l *Line[T, R]) serve() {
	var aboard []*ticket[T, R]
	var f flight
	for {
		ctx, items := l.board(&f, &aboard)
		if len(items) == 0 {
			return
		}
		w := l.watch()
		results := l.Call(ctx, items)
		l.land(aboard, items, results)
		f.cancel()
		l.mu.Lock()
		overtaken := l.unwatch(w)
		l.mu.Unlock()
		if overtaken {
			return
		}
		// Let those who have their results hand over what they have next, so that it goes
		// together.
		runtime.Gosched()
	}
}

// board takes those whose turn it is, or counts this call as over when nobody waits.
func (l *Line[T, R]) board(f *flight, aboard *[]*ticket[T, R]) (context.Context, []T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*aboard = (*aboard)[:0]
	n, size := 0, load{}
	for _, t := range l.waiting {
		if t.place == left {
			l.gone--
			n++
			continue
		}
		if t.ctx != nil && t.ctx.Err() != nil {
			t.place = left // its caller is about to notice
			n++
			continue
		}
		more := l.load(t)
		if len(*aboard) > 0 && (size.items+more.items > l.MaxItems || size.bytes+more.bytes > l.MaxBytes) {
			break
		}
		size.items += more.items
		size.bytes += more.bytes
		n++
		t.place, t.flight = flying, f
		*aboard = append(*aboard, t)
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	if len(*aboard) == 0 {
		l.busy--
		return nil, nil
	}
	return l.depart(f, *aboard), gather(*aboard, size.items)
}

// load is what a ticket adds to a call.
type load struct{ items, bytes int }

func (l *Line[T, R]) load(t *ticket[T, R]) load {
	if t.many == nil {
		return load{1, l.Size(&t.item)}
	}
	bytes := 0
	for i := range t.many {
		bytes += l.Size(&t.many[i])
	}
	return load{len(t.many), bytes}
}

// gather returns the items of a call.
func gather[T, R any](aboard []*ticket[T, R], n int) []T {
	if len(aboard) == 1 && aboard[0].many != nil {
		return aboard[0].many
	}
	items := make([]T, 0, n)
	for _, t := range aboard {
		if t.many == nil {
			items = append(items, t.item)
		} else {
			items = append(items, t.many...)
		}
	}
	return items
}

// depart returns the context of a call: it ends when all callers have left, and when
// none of them would wait any longer.
func (l *Line[T, R]) depart(f *flight, aboard []*ticket[T, R]) context.Context {
	first := context.Background()
	if aboard[0].ctx != nil {
		first = aboard[0].ctx
	}
	var ctx context.Context
	f.awaiting = len(aboard)
	if end, ok := latest(aboard); ok {
		ctx, f.cancel = context.WithDeadline(l.Root(first), end)
	} else {
		ctx, f.cancel = context.WithCancel(l.Root(first))
	}
	return ctx
}

// latest returns the latest deadline, if all have one.
func latest[T, R any](aboard []*ticket[T, R]) (time.Time, bool) {
	var end time.Time
	for _, t := range aboard {
		if t.ctx == nil {
			return end, false
		}
		deadline, ok := t.ctx.Deadline()
		if !ok {
			return end, false
		}
		if deadline.After(end) {
			end = deadline
		}
	}
	return end, true
}

// land hands out results. A ticket must not be touched once its caller has been answered.
func (l *Line[T, R]) land(aboard []*ticket[T, R], items []T, results []R) {
	awaited, at := 0, 0
	for i, t := range aboard {
		if t.ctx != nil {
			awaited++
			t.answer <- results[at]
			aboard[i] = nil
			at++
		} else {
			at += max(1, len(t.many))
		}
	}
	if awaited == len(aboard) {
		return
	}
	if awaited > 0 {
		items, results = l.started(aboard, items, results)
	}
	for _, t := range aboard {
		if t != nil {
			l.discard(t)
		}
	}
	l.Done(items, results)
}

// started returns the items that nobody waits for, and their results.
func (l *Line[T, R]) started(aboard []*ticket[T, R], items []T, results []R) ([]T, []R) {
	var its []T
	var theirs []R
	at := 0
	for _, t := range aboard {
		if t == nil { // it was awaited
			at++
			continue
		}
		end := at + max(1, len(t.many))
		its, theirs = append(its, items[at:end]...), append(theirs, results[at:end]...)
		at = end
	}
	return its, theirs
}

// ticket returns a blank one.
func (l *Line[T, R]) ticket() *ticket[T, R] {
	if t, ok := l.spare.Get().(*ticket[T, R]); ok {
		return t
	}
	return &ticket[T, R]{answer: make(chan R, 1)}
}

// discard takes back a ticket that nobody else knows any more.
func (l *Line[T, R]) discard(t *ticket[T, R]) {
	var none T
	t.item, t.many, t.ctx, t.flight = none, nil, nil, nil
	l.spare.Put(t)
}
