package dueq

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// ListOptions are the options of [Queue.List]. The zero value chooses the first 100 messages,
// without their bodies.
type ListOptions struct {
	Filter    Filter // with Filter.State "": messages of all states
	Order     Order  // default "": state by state, partition by partition
	Cursor    string // Page.Next of the page before; "": the first page
	Limit     int    // messages to examine for a page, up to 1000; default 100
	BodyLimit int    // bytes of each body to return; default 0: none, see Record.BodySize
}

// Page is one page of a list.
type Page struct {
	Records []Record
	Next    string // ListOptions.Cursor for the next page; "": there is none
}

// listedStates are all states in the order in which they are listed. It is the order in which a
// message goes through them, so that a message which changes its state meanwhile is usually seen
// twice and not missed.
func listedStates() []State { return []State{Scheduled, Ready, Leased, Dead, Done} }

// List returns a page of the messages that a filter chooses. With o.Order they are in the order of
// Record.At, over all partitions and states; those of one instant are in an order of the store's own.
// Without, a page costs the least: it has first all scheduled messages, then the
// ready, the leased, the dead and the done ones, those in a state partition by partition, in the
// order of Record.At. A page examines up to o.Limit messages and has those that match: it may
// have fewer, even none, although more follow. Continue until Page.Next is "", or use
// [Queue.Messages]. A message that changes its state meanwhile may be missed or seen twice.
// It costs a call of the store for each 250 messages, and one for each state of a partition, up to
// 16; with o.Order one for each state of each partition, and up to one for each 8 messages. A cursor
// belongs to its order. Errors: [ErrInvalid], [ErrNotFound] for an unknown queue.
func (q *Queue) List(ctx context.Context, o ListOptions) (Page, error) {
	if err := q.guard(ctx); err != nil {
		return Page{}, fail("list", q.name, "", err)
	}
	page, err := q.list(ctx, o)
	return page, fail("list", q.name, "", err)
}

// Messages returns all messages that match o.Filter, in the order of [Queue.List], from o.Cursor
// on. They are read o.Limit at a time while the loop runs, which may end at any time. An error of
// List ends the iteration: it is yielded once, with the zero Record.
//
//	for m, err := range orders.Messages(ctx, dueq.ListOptions{Filter: dueq.Filter{Key: "tenant-7/*"}}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(m.ID, m.State, m.Key)
//	}
func (q *Queue) Messages(ctx context.Context, o ListOptions) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for next := o; ; {
			page, err := q.List(ctx, next)
			if err != nil {
				yield(Record{}, err)
				return
			}
			for i := range page.Records {
				if !yield(page.Records[i], nil) {
					return
				}
			}
			if next.Cursor = page.Next; next.Cursor == "" {
				return
			}
		}
	}
}

func (q *Queue) list(ctx context.Context, o ListOptions) (Page, error) {
	m, err := o.Filter.matcher(listedStates()...)
	if err != nil {
		return Page{}, err
	}
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	switch o.Order {
	case "":
	case Ascending, Descending:
		return q.listSorted(ctx, m, o)
	default:
		return Page{}, noneOf("order", string(o.Order), "asc, desc")
	}
	from, err := parseCursor(o.Cursor, m.states)
	if err != nil {
		return Page{}, err
	}
	r := store.ListRequest{State: store.State(from.state), Cursor: from.rest, Limit: o.Limit, BodyLimit: o.BodyLimit}
	if err := r.Validate(); err != nil {
		return Page{}, err
	}
	s, err := q.read(ctx)
	if err != nil {
		return Page{}, err
	}
	if from.index >= s.Partitions {
		return Page{}, unfit("cursor", o.Cursor, " is of partition %d, the queue has %d", from.index, s.Partitions)
	}
	if s.History == 0 && o.Filter.State == "" && from.state != Done { // saves calls
		m.states = slices.DeleteFunc(m.states, func(s State) bool { return s == Done })
	}
	page := Page{Records: []Record{}}
	for range listSteps {
		r.State, r.Cursor, r.From, r.Limit = store.State(from.state), from.rest, m.from(from.state), min(o.Limit, listStep)
		found, err := q.client.store.List(ctx, q.partition(from.index), r)
		if err != nil {
			return Page{}, err
		}
		page.Records = append(page.Records, q.matching(m, &found)...)
		from = from.next(found.Next, s.Partitions, m.states)
		o.Limit -= len(found.Records)
		large := found.Next != "" && len(found.Records) < r.Limit // their bodies are as much as a call returns
		if from.state == "" || o.Limit <= 0 || large {
			break
		}
	}
	page.Next = from.String()
	return page, nil
}

// Steps of a page. No call of the store takes long, and partitions with few messages share a page.
const (
	listStep  = 250 // messages that a step examines
	listSteps = 16
)

// matching returns the messages that match. Where those that follow cannot match, it removes Next.
func (q *Queue) matching(m *matcher, found *store.Page) []Record {
	var records []Record
	for i := range found.Records {
		record := &found.Records[i]
		if m.past(record) {
			found.Next = ""
			break
		}
		if m.match(record) {
			records = append(records, toRecord(q.name, *record))
		}
	}
	return records
}

const defaultLimit = 100

// position is where a page begins. Its text in a cursor is the letter of the state, the partition, a
// dot, and the cursor of the store.
type position struct {
	state State // "": nowhere
	index int
	rest  string
}

func (p position) String() string {
	if p.state == "" {
		return ""
	}
	return string(p.state.letter()) + strconv.Itoa(p.index) + "." + p.rest
}

// letter returns the letter of a state in cursors.
func (s State) letter() byte {
	if s == Done {
		return 'e' // the first one is that of Dead
	}
	return s[0]
}

// next returns where the next page begins, where rest is the store's next cursor.
func (p position) next(rest string, partitions int, states []State) position {
	if rest != "" {
		return position{p.state, p.index, rest}
	}
	if p.index+1 < partitions {
		return position{p.state, p.index + 1, ""}
	}
	if i := slices.Index(states, p.state); i+1 < len(states) {
		return position{states[i+1], 0, ""}
	}
	return position{}
}

// parseCursor parses the text of a position in one of the states.
func parseCursor(text string, states []State) (position, error) {
	if text == "" {
		return position{state: states[0]}, nil
	}
	i := slices.IndexFunc(states, func(s State) bool { return s.letter() == text[0] })
	number, rest, ok := strings.Cut(text[1:], ".")
	index, err := strconv.Atoi(number)
	if i < 0 || !ok || err != nil || index < 0 || index >= store.MaxPartitions {
		return position{}, unfit("cursor", text, " is not a cursor of a list of %s messages", stateNames(states))
	}
	return position{states[i], index, rest}, nil
}

// State is the state of a message.
type State string

// The four states of a live message, and Done, the state of one that has ended, for as long as
// Settings.History keeps it.
const (
	Scheduled = State(store.Scheduled) // due later
	Ready     = State(store.Ready)     // due now
	Leased    = State(store.Leased)    // held by a consumer
	Dead      = State(store.Dead)      // out of attempts, or rejected
	Done      = State(store.Done)      // acknowledged, cancelled or expired
)

// Ending is how a message became [Done].
type Ending string

// The endings of done messages.
const (
	EndingAcked     = Ending(store.EndingAcked)     // acknowledged
	EndingCancelled = Ending(store.EndingCancelled) // by [Queue.Cancel]
	EndingExpired   = Ending(store.EndingExpired)   // its TTL passed before it was delivered
)

// Record is a message in the store.
type Record struct {
	ID       string
	Queue    string
	Key      string
	Headers  map[string]string
	Body     []byte // in a list cut to ListOptions.BodyLimit
	BodySize int    // bytes of the whole body
	State    State
	// At is, by the store's clock: scheduled and ready, when it is due; leased, when the
	// lease ends; dead, when it died; done, when it ended.
	At          time.Time
	SentAt      time.Time // by the producer's clock
	ExpiresAt   time.Time // zero: never
	Attempt     int       // deliveries so far, since the last [Again]
	Token       int64     // deliveries so far; Delivery.Token of the last of them
	Failures    int       // deliveries that failed, since the last redrive or [Again]
	Snoozes     int       // deliveries that were snoozed, likewise
	MaxAttempts int
	// LastFailure is the text of the last failure or snooze, up to 1 KiB: that of an error,
	// "snoozed: " and a reason, or "lease ran out". "" if there was none.
	LastFailure string
	// RecentFailures are the last deliveries that failed, were snoozed or whose leases ran out, the
	// newest first: up to 5 since the last [Again]. The text of the first is LastFailure, the others
	// are cut to 200 bytes.
	RecentFailures []Failure
	Cancelling     bool // leased, and its holder has been asked to stop
	// Holder is the consumer that holds a leased message: ConsumeOptions.Name or Options.Name,
	// with a suffix that makes it unique. It is "" if it is not known: in a file: store after it
	// was opened again, and if more than 1023 consumers share a partition in Redis, or 127 in
	// other stores.
	Holder string
	Ending Ending // done: how it ended
	Repeat Repeat
}

// Failure is how a delivery ended that was not acknowledged.
type Failure struct {
	At      time.Time // by the store's clock
	Attempt int       // Record.Attempt of the delivery
	Text    string
}

// Get returns a message with its whole body: a live or dead one or, if Settings.History keeps it,
// a done one. Errors: [ErrNotFound] when there is no such message (any more), [ErrInvalid],
// [ErrCorrupt] when it cannot be read.
func (q *Queue) Get(ctx context.Context, ref Ref) (Record, error) {
	if err := q.guard(ctx); err != nil {
		return Record{}, fail("get", q.name, ref.String(), err)
	}
	r, err := q.get(ctx, ref)
	if err != nil {
		return Record{}, fail("get", q.name, ref.String(), err)
	}
	return toRecord(q.name, r), nil
}

func (q *Queue) get(ctx context.Context, ref Ref) (store.Record, error) {
	plain, err := ref.plain()
	if err != nil {
		return store.Record{}, err
	}
	var r store.Record
	err = q.ask(ctx, plain, func(homes []store.Partition) (live bool, err error) {
		r, err = q.getFrom(ctx, homes, plain)
		return !r.ID.IsZero() && ended(&r) == 0, err
	})
	if err == nil && r.ID.IsZero() {
		err = ErrNotFound
	}
	return r, err
}

// getFrom returns the message that a reference names first: live before dead before done, of those
// that are dead or done the last one. The zero Record: there is none.
func (q *Queue) getFrom(ctx context.Context, homes []store.Partition, ref store.Ref) (r store.Record, err error) {
	found := false
	for _, p := range homes {
		next, err := q.client.store.Get(ctx, p, ref)
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return r, err
		}
		if rank, best := ended(&next), ended(&r); !found || rank < best || rank == best && next.At > r.At {
			r, found = next, true
		}
		if ended(&r) == 0 {
			break
		}
	}
	return r, nil
}

// ended returns 0 for a live message, 1 for a dead one, 2 for one that is done.
func ended(r *store.Record) int {
	switch r.State {
	case store.Dead:
		return 1
	case store.Done:
		return 2
	case store.Scheduled, store.Ready, store.Waiting, store.Leased:
	}
	return 0
}

func toRecord(queue string, r store.Record) Record {
	return Record{
		ID: r.ID.String(), Queue: queue, Key: r.Key, Headers: r.Headers, Body: r.Body, BodySize: r.BodySize,
		State: State(r.State), At: fromInstant(r.At), SentAt: fromInstant(r.ID.Time()), ExpiresAt: fromInstant(r.Expiry),
		Attempt: r.Attempt - r.Earlier, Token: int64(r.Attempt), Failures: r.Failures, Snoozes: r.Snoozes, MaxAttempts: r.MaxAttempts,
		LastFailure: r.LastFailure, RecentFailures: toFailures(&r), Cancelling: r.Cancelling, Holder: r.Holder, Ending: Ending(r.Ending), Repeat: toRepeat(r.Repeat),
	}
}

func toFailures(r *store.Record) []Failure {
	all := slices.Grow([]Failure(nil), len(r.RecentFailures))
	for _, f := range r.RecentFailures {
		all = append(all, Failure{At: fromInstant(f.At), Attempt: f.Attempt - r.Earlier, Text: f.Text})
	}
	return all
}
