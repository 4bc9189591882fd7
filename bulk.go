package dueq

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// BulkOptions are the options of calls for all messages that a [Filter] chooses. nil means the
// zero value.
type BulkOptions struct {
	// DryRun only counts the messages that match.
	DryRun bool
	// Spread paces a redrive or a reschedule: the due times of the messages are spread evenly
	// over this span, in the order in which they died or are due. Each counts from the step in
	// which the message is changed. Default 0: all at once. Up to 10 years.
	Spread time.Duration
	// Progress is called after each step, in the goroutine of the call.
	Progress func(BulkProgress)
}

// BulkProgress is the progress of a bulk call. It examines and matches all messages first, then
// acts on those that match.
type BulkProgress struct {
	Examined int // messages
	Matched  int // of the examined messages
	Done     int // of the matched messages; those that have changed their state are not counted
}

// RedriveAll makes the dead messages that a filter chooses ready, with their failures and TTLs
// cleared, and returns how many: dead -> ready, or with o.Spread also scheduled. f.State is "" or
// Dead. A message that is not dead any more when the call reaches it is not changed. One whose
// key another message has now stays dead; the returned error joins an [ErrDuplicate] for each of
// the first 100 of these. Messages that die while the call runs are not redriven.
//
// Errors: [ErrInvalid]; [ErrNotFound] for an unknown queue. After any other error the count has
// those that are known to be redriven; the call can be repeated. It costs a read of every dead
// message, a call for each 500 that match, and 24 bytes of memory for each match.
func (q *Queue) RedriveAll(ctx context.Context, f Filter, o *BulkOptions) (int, error) {
	return q.bulk(ctx, "redrive", f, o, []State{Dead}, func(b *bulk, p store.Partition, batch []target) error {
		items := make([]store.Redrive, len(batch))
		for i, t := range batch {
			items[i] = store.Redrive{ID: t.id, Delay: b.offset(t)}
		}
		results, err := q.redriveItems(ctx, p, items)
		for i, r := range results {
			b.settle(batch[i], r)
		}
		return err
	})
}

// RescheduleAll gives the scheduled and ready messages that a filter chooses a new due time, and
// returns how many. f.State is "", Scheduled or Ready. A Delay counts from the step in which a
// message is changed. With o.Spread the first message gets the time in to, and the others are
// spread after it. A message that is leased, dead or gone when the call reaches it is not
// changed.
//
// Errors, costs and memory are as those of [Queue.RedriveAll]; a due time more than 10 years
// ahead is [ErrInvalid].
func (q *Queue) RescheduleAll(ctx context.Context, f Filter, to Schedule, o *BulkOptions) (int, error) {
	due, delay, err := to.spans()
	if err == nil {
		err = store.Move{Ref: store.Ref{Key: "any"}, Due: due, Delay: delay}.Validate()
	}
	if err == nil && o != nil && delay+toSpan(o.Spread) > store.MaxDelay {
		err = invalid("spread", "ends more than 10 years ahead")
	}
	if err != nil {
		return 0, fail("reschedule", q.name, "", err)
	}
	return q.bulk(ctx, "reschedule", f, o, []State{Scheduled, Ready}, func(b *bulk, p store.Partition, batch []target) error {
		moves := make([]store.Move, len(batch))
		for i, t := range batch {
			moves[i] = store.Move{Ref: store.Ref{ID: t.id}, Due: due, Delay: delay}
			if due != 0 {
				moves[i].Due += b.offset(t)
			} else {
				moves[i].Delay += b.offset(t)
			}
		}
		codes, err := numbered(q.client, func(caller string, number uint64) ([]store.Code, error) {
			return q.client.store.Reschedule(ctx, p, store.RescheduleRequest{Caller: caller, Number: number, Moves: moves})
		})
		for i, code := range codes {
			b.settle(batch[i], store.PushResult{Code: code})
		}
		return err
	})
}

// Purge removes the messages that a filter chooses for good, and returns how many. f.State is
// required: Scheduled, Ready, Dead or Done. A message that is in another state when the call
// reaches it is not removed. If only f.State is set, messages are removed without being read,
// including those that enter the state during the call.
//
// Errors, costs and memory are otherwise as those of [Queue.RedriveAll].
func (q *Queue) Purge(ctx context.Context, f Filter, o *BulkOptions) (int, error) {
	if f.State == "" {
		return 0, fail("purge", q.name, "", invalid("state", "is missing, want scheduled, ready, dead or done"))
	}
	if o != nil && o.Spread != 0 {
		return 0, fail("purge", q.name, "", invalid("spread", "is for redrives and reschedules"))
	}
	return q.bulk(ctx, "purge", f, o, []State{Scheduled, Ready, Dead, Done}, func(b *bulk, p store.Partition, batch []target) error {
		r := store.PurgeRequest{State: store.State(f.State), All: batch == nil}
		for _, t := range batch {
			r.IDs = append(r.IDs, t.id)
		}
		n, err := q.purgeSome(ctx, p, r)
		b.progress.Done += n
		return err
	})
}

// target is a message that matched.
type target struct {
	id   store.ID
	at   int64 // Record.At
	rank int   // index among all messages that matched
}

// bulk is a call for all messages that match.
type bulk struct {
	*BulkOptions
	queue    *Queue
	op       string
	match    *matcher
	found    []target
	progress BulkProgress
	refused  refusals
	act      func(b *bulk, p store.Partition, batch []target) error
}

func (q *Queue) bulk(ctx context.Context, op string, f Filter, o *BulkOptions, states []State,
	act func(b *bulk, p store.Partition, batch []target) error,
) (int, error) {
	if o == nil {
		o = &BulkOptions{}
	}
	b := &bulk{BulkOptions: o, queue: q, op: op, act: act}
	err := q.guard(ctx)
	if err == nil {
		b.match, err = f.matcher(states...)
	}
	if err == nil {
		err = o.check()
	}
	if err == nil {
		err = b.run(ctx)
	}
	n := b.progress.Done
	if o.DryRun {
		n = b.progress.Matched
	}
	return n, b.refused.join(fail(op, q.name, "", err))
}

func (o *BulkOptions) check() error {
	if o.Spread < 0 || toSpan(o.Spread) > store.MaxDelay {
		return outside("spread", o.Spread, "0 to 10 years")
	}
	return nil
}

func (b *bulk) run(ctx context.Context) error {
	s, err := b.queue.read(ctx)
	if err != nil {
		return err
	}
	if b.op == "purge" && b.match.everything() && !b.DryRun {
		return b.purgeState(s.Partitions)
	}
	for _, state := range b.match.states {
		for index := range s.Partitions {
			if err := b.find(ctx, b.queue.partition(index), state); err != nil {
				return err
			}
		}
	}
	if b.DryRun {
		return nil
	}
	return b.actOnAll()
}

// purgeState removes all messages in the state, without reading them.
func (b *bulk) purgeState(partitions int) error {
	for index := range partitions {
		for {
			before := b.progress.Done
			if err := b.step(b.queue.partition(index), nil); err != nil {
				return err
			}
			if b.progress.Done-before < store.MaxBatch {
				break
			}
		}
	}
	return nil
}

// find adds the messages of one state and partition that match.
func (b *bulk) find(ctx context.Context, p store.Partition, state State) error {
	for r := (store.ListRequest{State: store.State(state), From: b.match.from(state), Limit: store.MaxBatch}); ; {
		page, err := b.queue.client.store.List(ctx, p, r)
		if err != nil {
			return err
		}
		for i := range page.Records {
			record := &page.Records[i]
			if b.match.past(record) {
				page.Next = ""
				break
			}
			b.progress.Examined++
			if b.match.match(record) {
				b.progress.Matched++
				b.add(record)
			}
		}
		b.report()
		if r.Cursor = page.Next; r.Cursor == "" {
			return nil
		}
	}
}

func (b *bulk) add(r *store.Record) {
	if !b.DryRun {
		b.found = append(b.found, target{id: r.ID, at: r.At})
	}
}

// actOnAll acts on the matched messages, in the order of Record.At, each partition in steps.
func (b *bulk) actOnAll() error {
	slices.SortFunc(b.found, func(x, y target) int {
		return cmp.Or(cmp.Compare(x.at, y.at), bytes.Compare(x.id[:], y.id[:]))
	})
	waiting := map[int][]target{}
	for i := range b.found {
		t := b.found[i]
		t.rank = i
		index := t.id.Partition()
		waiting[index] = append(waiting[index], t)
		if len(waiting[index]) < store.MaxBatch {
			continue
		}
		if err := b.step(b.queue.partition(index), waiting[index]); err != nil {
			return err
		}
		waiting[index] = waiting[index][:0]
	}
	for index, batch := range waiting {
		if len(batch) == 0 {
			continue
		}
		if err := b.step(b.queue.partition(index), batch); err != nil {
			return err
		}
	}
	return nil
}

// step acts on up to store.MaxBatch messages of a partition.
func (b *bulk) step(p store.Partition, batch []target) error {
	before := b.progress.Done
	err := b.act(b, p, batch)
	if batch == nil { // purgeState: no message was read
		b.progress.Examined += b.progress.Done - before
		b.progress.Matched += b.progress.Done - before
	}
	b.report()
	return err
}

func (b *bulk) report() {
	if b.Progress != nil {
		b.Progress(b.progress)
	}
}

// offset returns the position of a message in Spread, in ms.
func (b *bulk) offset(t target) int64 {
	return int64(float64(toSpan(b.Spread)) * float64(t.rank) / float64(len(b.found)))
}

// settle counts a message that was changed. One whose state has changed since it matched is no
// error.
func (b *bulk) settle(t target, r store.PushResult) {
	switch r.Code {
	case store.CodeOK:
		b.progress.Done++
	case store.CodeNotFound, store.CodeRunning, store.CodeDead:
	default:
		b.refused.add(refusal(b.op, b.queue.name, t.id.String(), r))
	}
}

// refusals are the errors of single messages, up to a limit.
type refusals struct {
	errs []error
	more int
}

const maxRefusals = 100

func (r *refusals) add(err error) {
	if len(r.errs) < maxRefusals {
		r.errs = append(r.errs, err)
		return
	}
	r.more++
}

// join returns the error of the whole call joined with all refusals; nil if there is none.
func (r *refusals) join(err error) error {
	if len(r.errs) == 0 {
		return err
	}
	all := append([]error{err}, r.errs...)
	if r.more > 0 {
		all = append(all, fmt.Errorf("%d more were refused", r.more))
	}
	return errors.Join(all...)
}
