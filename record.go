package dueq

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// State is where a live message is.
type State = store.State

// The four states of a live message.
const (
	Scheduled = store.Scheduled // due later
	Ready     = store.Ready     // due now
	Leased    = store.Leased    // held by a consumer
	Dead      = store.Dead      // out of attempts, or rejected
)

// Record is a message as the store has it.
type Record struct {
	ID       string
	Queue    string
	Key      string
	Headers  map[string]string
	Body     []byte // in a list cut to ListOptions.BodyLimit
	BodySize int    // bytes of the whole body
	State    State
	// At is, by the store's clock: scheduled and ready, when it is due; leased, when the
	// lease ends; dead, when it died.
	At          time.Time
	SentAt      time.Time // by the producer's clock
	ExpiresAt   time.Time // zero: never
	Attempt     int       // deliveries so far
	Failures    int       // deliveries that failed, since the last redrive
	MaxAttempts int
	LastFailure string // up to 1 KiB; "" if none
	Cancelling  bool   // leased, and its holder has been asked to stop
}

// ListOptions chooses a page of messages.
type ListOptions struct {
	State     State  // one of the four; required
	Cursor    string // Page.Next of the page before; "": the first page
	Limit     int    // records, up to 1000; default 100
	BodyLimit int    // bytes of each body to return; default 0: none, see Record.BodySize
}

// Page is one page of a list.
type Page struct {
	Records []Record
	Next    string // ListOptions.Cursor for the next page; "": there is none
}

// Get returns a message with its whole body, live or dead. Errors: [ErrNotFound] when
// there is no such message (any more), [ErrInvalid], [ErrCorrupt] when it cannot be read.
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
	p, plain, err := q.locate(ctx, ref)
	if err != nil {
		return store.Record{}, err
	}
	r, err := q.client.store.Get(ctx, p, plain)
	if !errors.Is(err, ErrNotFound) {
		return r, err
	}
	now, moved, failed := q.relocate(ctx, p, plain)
	switch {
	case moved:
		return q.client.store.Get(ctx, now, plain)
	case failed != nil:
		return r, failed
	default:
		return r, err
	}
}

// List returns a page of the messages in a state, in the order of Record.At, one
// partition after another. A page may hold fewer records than the limit, even none,
// though more follow: go on until Page.Next is "". A message that changes its state
// meanwhile may be missed or seen twice. Errors: [ErrInvalid], [ErrNotFound] for an
// unknown queue.
func (q *Queue) List(ctx context.Context, c ListOptions) (Page, error) {
	if err := q.guard(ctx); err != nil {
		return Page{}, fail("list", q.name, "", err)
	}
	page, err := q.list(ctx, c)
	return page, fail("list", q.name, "", err)
}

func (q *Queue) list(ctx context.Context, c ListOptions) (Page, error) {
	index, cursor, err := parseCursor(c.Cursor)
	if err != nil {
		return Page{}, err
	}
	if c.Limit == 0 {
		c.Limit = defaultLimit
	}
	r := store.ListRequest{State: c.State, Cursor: cursor, Limit: c.Limit, BodyLimit: c.BodyLimit}
	if err := r.Validate(); err != nil {
		return Page{}, err
	}
	s, err := q.read(ctx)
	if err != nil {
		return Page{}, err
	}
	if index >= s.Partitions {
		return Page{}, invalid("cursor", "%.40q is of partition %d, the queue has %d", c.Cursor, index, s.Partitions)
	}
	return q.listPartition(ctx, index, s.Partitions, r)
}

const defaultLimit = 100

func (q *Queue) listPartition(ctx context.Context, index, partitions int, r store.ListRequest) (Page, error) {
	found, err := q.client.store.List(ctx, q.partition(index), r)
	if err != nil {
		return Page{}, err
	}
	page := Page{Records: make([]Record, len(found.Records))}
	for i := range found.Records {
		page.Records[i] = toRecord(q.name, found.Records[i])
	}
	switch {
	case found.Next != "":
		page.Next = cursorText(index, found.Next)
	case index+1 < partitions:
		page.Next = cursorText(index+1, "")
	}
	return page, nil
}

// A cursor is "partition.cursor of the store".

func cursorText(index int, cursor string) string { return strconv.Itoa(index) + "." + cursor }

func parseCursor(text string) (index int, cursor string, err error) {
	if text == "" {
		return 0, "", nil
	}
	number, cursor, ok := strings.Cut(text, ".")
	index, err = strconv.Atoi(number)
	if !ok || err != nil || index < 0 || index >= store.MaxPartitions {
		return 0, "", invalid("cursor", "%.40q is not a cursor", text)
	}
	return index, cursor, nil
}
