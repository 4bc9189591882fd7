package dueq

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dueq-dev/dueq/store"
)

// Order is that of a list over all partitions and states.
type Order string

// The orders of a list, by Record.At. The zero Order is partition by partition.
const (
	Ascending  Order = "asc"  // the earliest first
	Descending Order = "desc" // the latest first
)

// mark begins the cursors of a list in an order. No state has it as its letter.
func (o Order) mark() string { return strings.ToUpper(string(o)) }

// sortedList is a list in an order while one page of it is made. The messages of each state in each
// partition are a source; messages of one instant are in the order of their sources, and within one
// in that of the store. So the place of one message says where every source goes on.
type sortedList struct {
	queue   *Queue
	matcher *matcher
	options ListOptions
	sources []*source
	bytes   int // of the bodies of the page
}

// source is what is left of the messages of one state in one partition.
type source struct {
	state   State
	index   int
	cursor  string // where the next step begins; "": at from
	from    int64
	records []store.Record
	cursors []string
	more    bool // there are more messages behind records
	short   bool // they were left out because of their size
}

// listSorted returns a page of a list in o.Order.
func (q *Queue) listSorted(ctx context.Context, m *matcher, o ListOptions) (Page, error) {
	r := store.ListRequest{State: store.State(m.states[0]), Limit: o.Limit, BodyLimit: o.BodyLimit}
	if err := r.Validate(); err != nil {
		return Page{}, err
	}
	s, err := q.read(ctx)
	if err != nil {
		return Page{}, err
	}
	l := &sortedList{queue: q, matcher: m, options: o}
	for _, state := range m.states {
		for index := range s.Partitions {
			l.sources = append(l.sources, &source{state: state, index: index, from: l.bound(state), more: true})
		}
	}
	if err := l.continueAt(o.Cursor); err != nil {
		return Page{}, err
	}
	return l.page(ctx)
}

// bound returns the first Record.At of the messages in a state that can match, 0 for any.
func (l *sortedList) bound(s State) int64 {
	if l.options.Order == Ascending {
		return l.matcher.from(s)
	}
	to := l.matcher.at(s).To
	if to.IsZero() {
		return 0
	}
	return min(max(1, toInstant(to)-1), store.MaxInstant)
}

// continueAt has the sources go on behind the message that a cursor names.
func (l *sortedList) continueAt(cursor string) error {
	if cursor == "" {
		return nil
	}
	mark := l.options.Order.mark()
	text, ok := strings.CutPrefix(cursor, mark)
	if !ok {
		return unfit("cursor", cursor, " is not a cursor of a list in the order %s", string(l.options.Order))
	}
	instant, text, _ := strings.Cut(text, ".")
	at, err := strconv.ParseInt(instant, 10, 64)
	if err != nil || text == "" || at < 0 || at > store.MaxInstant {
		return unfit("cursor", cursor, " is not a cursor of a list in the order %s", string(l.options.Order))
	}
	last, err := parseCursor(text, l.matcher.states)
	if err != nil || last.rest == "" {
		return unfit("cursor", cursor, " is not a cursor of a list of %s messages", stateNames(l.matcher.states))
	}
	own := slices.IndexFunc(l.sources, func(s *source) bool { return s.state == last.state && s.index == last.index })
	if own < 0 {
		return unfit("cursor", cursor, " is of partition %d, the queue has %d", last.index, len(l.sources)/len(l.matcher.states))
	}
	for i, s := range l.sources {
		switch {
		case i < own:
			s.behind(at, l.options.Order)
		case i == own:
			s.cursor = last.rest
		default:
			s.begin(at, l.options.Order)
		}
	}
	return nil
}

// begin has a source begin with the messages of an instant.
func (s *source) begin(at int64, o Order) {
	switch {
	case at < 1 || at > store.MaxInstant:
		s.more = o == Ascending && at < 1
	case s.from == 0, o == Ascending && at > s.from, o == Descending && at < s.from:
		s.from = at
	}
}

// behind has a source begin behind the messages of an instant.
func (s *source) behind(at int64, o Order) {
	if o == Ascending {
		s.begin(at+1, o)
	} else {
		s.begin(at-1, o)
	}
}

// page returns up to as many of the first messages as the options ask for. It ends early where the
// size of messages has cut a step short, and when its bodies are as much as a call returns.
func (l *sortedList) page(ctx context.Context) (Page, error) {
	page := Page{Records: []Record{}}
	for left := l.options.Limit; ; left-- {
		for _, s := range l.sources {
			if err := l.fill(ctx, s, left); err != nil {
				return Page{}, err
			}
		}
		first := l.first()
		if first == nil {
			return page, nil
		}
		r := first.records[0]
		if l.matcher.match(&r) {
			page.Records = append(page.Records, toRecord(l.queue.name, r))
			l.bytes += len(r.Body)
		}
		cursor := first.cursors[0]
		first.records, first.cursors = first.records[1:], first.cursors[1:]
		if left == 1 || l.bytes >= store.MaxBatchBytes || first.short && len(first.records) == 0 {
			if l.rest() {
				page.Next = l.options.Order.mark() + strconv.FormatInt(r.At, 10) + "." + position{first.state, first.index, cursor}.String()
			}
			return page, nil
		}
	}
}

// sortedStep is how many messages a step examines at least, where as many are wanted.
const sortedStep = 8

// fill reads the next messages of a source that has none at hand.
func (l *sortedList) fill(ctx context.Context, s *source, left int) error {
	for s.more && len(s.records) == 0 {
		r := store.ListRequest{
			State: store.State(s.state), Descending: l.options.Order == Descending, Cursor: s.cursor, From: s.from,
			Limit: min(left, listStep, max(sortedStep, 2*left/len(l.sources))), BodyLimit: l.options.BodyLimit, Cursors: true,
		}
		found, err := l.queue.client.store.List(ctx, l.queue.partition(s.index), r)
		if err != nil {
			return err
		}
		s.records, s.cursors, s.cursor, s.more = found.Records, found.Cursors, found.Next, found.Next != ""
		s.short = s.more && len(found.Records) < r.Limit
		l.cut(s)
	}
	return nil
}

// cut removes the messages of a source that are outside the filter's range of time.
func (l *sortedList) cut(s *source) {
	in := l.matcher.at(s.state)
	i := slices.IndexFunc(s.records, func(r store.Record) bool {
		return l.options.Order == Ascending && in.endsBefore(r.At) || l.options.Order == Descending && !in.From.IsZero() && r.At < toInstant(in.From)
	})
	if i >= 0 {
		s.records, s.cursors, s.more, s.short = s.records[:i], s.cursors[:i], false, false
	}
}

// first returns the source that has the next message; nil: there is none.
func (l *sortedList) first() (first *source) {
	best := int64(math.MaxInt64)
	for _, s := range l.sources {
		if len(s.records) == 0 {
			continue
		}
		at := s.records[0].At
		if l.options.Order == Descending {
			at = -at
		}
		if at < best {
			first, best = s, at
		}
	}
	return first
}

// rest reports whether there may be more messages.
func (l *sortedList) rest() bool {
	return slices.ContainsFunc(l.sources, func(s *source) bool { return s.more || len(s.records) > 0 })
}
