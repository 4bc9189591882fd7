package dueq

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/dueq-dev/dueq/internal/producer"
	"github.com/dueq-dev/dueq/store"
)

// seqBatch is how many messages SendSeq takes from its iterator at a time.
const seqBatch = 5_000

// SendBatch sends messages in as few calls as possible, of at most 500 messages and 1 MiB each.
// It is not atomic: every message has its own result, in order, with the meaning of a result of
// [Queue.Send]. A refused message does not affect the others. Messages are stored in order within
// a partition, so of two with the same key the second is [ErrDuplicate]. Without messages it
// makes no call and returns no results.
//
// The error is for the batch as a whole: [ErrInvalid] for a bad queue name, [ErrClosed], the
// error of a ctx that had ended before, or an error of reading the queue's settings; then nothing
// was stored. It is nil when messages have failed: see [SendResults.FirstErr].
func (q *Queue) SendBatch(ctx context.Context, messages []Message) (SendResults, error) {
	if err := q.guard(ctx); err != nil {
		return nil, fail("send", q.name, "", err)
	}
	if len(messages) == 0 {
		return nil, nil
	}
	if q.client.wrapped != nil {
		return q.sendWrapped(ctx, messages)
	}
	return q.sendBatchObserved(ctx, messages)
}

// sendBatch is SendBatch without middleware and hooks.
func (q *Queue) sendBatch(ctx context.Context, messages []Message) (SendResults, error) {
	if len(messages) == 1 {
		return q.sendOne(ctx, &messages[0])
	}
	largest := 0
	for i := range messages {
		largest = max(largest, len(messages[i].Body))
	}
	results, indexes := make(SendResults, len(messages)), make([]int, len(messages))
	for i := range indexes {
		indexes[i] = i
	}
	for try := 0; len(indexes) > 0; try++ {
		settings, err := q.learnFor(ctx, largest)
		if err != nil && try == 0 {
			return nil, fail("send", q.name, "", err)
		}
		if err != nil {
			return results, nil //nolint:nilerr // the results have the error of each message
		}
		b := &batch{queue: q, results: results, partitions: map[int]*share{}}
		for _, i := range indexes {
			b.add(ctx, i, &messages[i], &settings)
		}
		b.send(ctx)
		b.sendMoved(ctx)
		if indexes = rerouted(results, indexes); try == reroutes {
			break
		}
	}
	return results, nil
}

// sendOne is sendBatch for one message, which shares its call with concurrent sends, as Send does.
func (q *Queue) sendOne(ctx context.Context, m *Message) (SendResults, error) {
	if _, err := q.learnFor(ctx, len(m.Body)); err != nil {
		return nil, fail("send", q.name, "", err)
	}
	return SendResults{q.send(ctx, m)}, nil
}

// SendSeq is [Queue.SendBatch] for messages that need not be in memory at the same time: it takes
// up to 5,000 from the iterator, sends them, yields their results in order, and continues. An
// error of the whole batch is the result of each of these messages. When the caller stops, up to
// 5,000 messages whose results it has not seen may have been sent.
func (q *Queue) SendSeq(ctx context.Context, messages iter.Seq[Message]) iter.Seq[SendResult] {
	return func(yield func(SendResult) bool) {
		batch := make([]Message, 0, seqBatch)
		send := func() bool {
			for _, r := range q.sendAll(ctx, batch) {
				if !yield(r) {
					return false
				}
			}
			batch = batch[:0]
			return true
		}
		for m := range messages {
			if batch = append(batch, m); len(batch) == seqBatch && !send() {
				return
			}
		}
		send()
	}
}

// sendAll is SendBatch with a result for each message, also after an error of the whole batch.
func (q *Queue) sendAll(ctx context.Context, messages []Message) SendResults {
	results, err := q.SendBatch(ctx, messages)
	if err == nil {
		return results
	}
	results = make(SendResults, len(messages))
	for i := range results {
		results[i].Err = err
	}
	return results
}

// rerouted returns the indexes whose messages need another partition.
func rerouted(results SendResults, indexes []int) []int {
	var again []int
	for _, i := range indexes {
		if errors.Is(results[i].Err, store.ErrRepartitioned) {
			again = append(again, i)
		}
	}
	return again
}

// batch is the state of a SendBatch.
type batch struct {
	queue      *Queue
	results    SendResults
	partitions map[int]*share
	keyless    *share // that gets the next keyless message
	count      int    // messages and bytes that it got since it became keyless
	bytes      int

	mu    sync.Mutex
	moved []moved
}

// moved is a message whose old partition has none with its names.
type moved struct {
	index   int // in the batch
	message store.Message
}

// share has the messages for one partition, in order.
type share struct {
	partition store.Partition
	messages  []store.Message
	indexes   []int // of the messages in the batch
}

// add gives a message its partition, or its error.
func (b *batch) add(ctx context.Context, i int, m *Message, settings *store.Settings) {
	q := b.queue
	sent, err := m.plain()
	m.fill(&sent, settings)
	if err == nil {
		err = b.assign(ctx, i, &sent, settings)
	}
	if err != nil {
		b.results[i] = SendResult{Err: fail("send", q.name, m.ID, err)}
	}
}

func (b *batch) assign(ctx context.Context, i int, m *store.Message, settings *store.Settings) error {
	if m.Key == "" && m.ID.IsZero() && m.DedupID.IsZero() {
		m.ID, m.New, m.Of = b.queue.client.ids.New(b.next(m, settings.Partitions).partition.Index), true, settings.Partitions
	} else if err := b.queue.identify(m, settings); err != nil {
		return err
	}
	if err := b.queue.schedule(ctx, m); err != nil {
		return err
	}
	if err := m.ValidateBody(settings.MaxBody); err != nil {
		return err
	}
	s := b.share(m.ID.Partition())
	if s.messages == nil {
		// Keyless messages go to the next partition when a call is full; the others are spread
		// over all partitions.
		expected := min(len(b.results)-i, store.MaxBatch)
		if b.keyless != s {
			expected = expected/settings.Partitions + 1
		}
		s.messages, s.indexes = make([]store.Message, 0, expected), make([]int, 0, expected)
	}
	s.messages = append(s.messages, *m)
	s.indexes = append(s.indexes, i)
	return nil
}

// next returns the partition for a message that may go to any: the same one until a call is full.
func (b *batch) next(m *store.Message, partitions int) *share {
	size := m.Size()
	if b.keyless == nil || b.count == store.MaxBatch || b.bytes+size > store.MaxBatchBytes {
		b.keyless, b.count, b.bytes = b.share(b.queue.roundRobin.Next(partitions)), 0, 0
	}
	b.count++
	b.bytes += size
	return b.keyless
}

func (b *batch) share(index int) *share {
	s := b.partitions[index]
	if s == nil {
		s = &share{partition: b.queue.partition(index)}
		b.partitions[index] = s
	}
	return s
}

// send pushes to all partitions at the same time, and to each in order.
func (b *batch) send(ctx context.Context) {
	var sending sync.WaitGroup
	defer sending.Wait()
	for _, s := range b.partitions {
		if len(b.partitions) == 1 {
			b.sendShare(ctx, s) // a goroutine would only cost its stack
			return
		}
		sending.Go(func() { b.sendShare(ctx, s) })
	}
}

func (b *batch) sendShare(ctx context.Context, s *share) {
	p := b.queue.client.producer
	b.settleKnown(s, p.Recall(ctx, s.partition, s.messages))
	var failed error
	for len(s.messages) > 0 {
		n := chunk(s.messages)
		var results []store.PushResult
		err := failed
		if err == nil {
			results, err = p.Push(ctx, s.partition, s.messages[:n])
		}
		for i := range n {
			o := producer.Outcome{Err: err}
			if err == nil {
				o.Result = results[i]
			}
			b.note(s.indexes[i], &s.messages[i], o)
		}
		if err != nil && !producer.Definite(err) {
			failed = err // the store does not answer: do not wait for that once per call
		}
		s.messages, s.indexes = s.messages[n:], s.indexes[n:]
	}
}

// note sets the result of a message.
func (b *batch) note(index int, m *store.Message, o producer.Outcome) {
	b.results[index] = b.queue.sendResult(m.ID, o)
	if o.Err == nil && o.Result.Code == store.CodeMoved {
		b.mu.Lock()
		b.moved = append(b.moved, moved{index, *m})
		b.mu.Unlock()
	}
}

// sendMoved sends the messages whose old partitions have none with their names to the new ones.
func (b *batch) sendMoved(ctx context.Context) {
	if len(b.moved) == 0 {
		return
	}
	slices.SortFunc(b.moved, func(x, y moved) int { return cmp.Compare(x.index, y.index) })
	next := &batch{queue: b.queue, results: b.results, partitions: map[int]*share{}}
	for i := range b.moved {
		m := &b.moved[i]
		moveHome(&m.message)
		s := next.share(m.message.ID.Partition())
		s.messages, s.indexes = append(s.messages, m.message), append(s.indexes, m.index)
	}
	next.send(ctx)
}

// settleKnown removes the messages from s whose outcome is known without a push.
func (b *batch) settleKnown(s *share, known map[store.ID]producer.Outcome) {
	if len(known) == 0 {
		return
	}
	rest := &share{partition: s.partition}
	for i := range s.messages {
		index := s.indexes[i]
		o, ok := known[s.messages[i].ID]
		if !ok {
			rest.messages = append(rest.messages, s.messages[i])
			rest.indexes = append(rest.indexes, index)
			continue
		}
		b.note(index, &s.messages[i], o)
	}
	*s = *rest
}

// chunk returns how many of the messages go into one call.
func chunk(messages []store.Message) int {
	size := 0
	for i := range messages {
		size += messages[i].Size()
		if i == store.MaxBatch || i > 0 && size > store.MaxBatchBytes {
			return i
		}
	}
	return len(messages)
}
