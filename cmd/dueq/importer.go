package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/jsonl"
)

// A batch is sent when it has that many messages or bytes, which bounds the memory of an
// import.
const (
	batchMessages = 2000
	batchBytes    = 4 << 20
)

// importer sends the messages of a file in batches, in the order of the lines.
type importer struct {
	queue  *dueq.Queue
	in     *jsonl.Reader
	clock  replay
	bad    func(error) // called for each bad line
	show   func(r *importResult, read int64, done bool)
	result importResult

	batch []jsonl.Message
	size  int // bytes of batch
}

// run sends everything, or stops at the first error that is not about one line.
func (i *importer) run(ctx context.Context) error {
	defer func() { i.show(&i.result, i.in.Bytes(), true) }()
	for {
		m, err := i.in.Next()
		switch line := (*jsonl.LineError)(nil); {
		case errors.Is(err, io.EOF):
			return i.flush(ctx)
		case errors.As(err, &line):
			i.result.Lines++
			i.refuse(line)
			continue
		case err != nil:
			return errors.Join(usage("read the file to import: %w", err), i.flush(ctx))
		}
		i.result.Lines++
		i.clock.see(m)
		i.batch = append(i.batch, m)
		if i.size += len(m.Key) + len(m.Body); len(i.batch) < batchMessages && i.size < batchBytes && i.in.More() {
			continue
		}
		if err := i.flush(ctx); err != nil {
			return err
		}
	}
}

func (i *importer) refuse(err error) {
	i.result.Bad++
	i.bad(err)
}

// flush sends the batch.
func (i *importer) flush(ctx context.Context) error {
	if len(i.batch) == 0 {
		return nil
	}
	messages := make([]dueq.Message, len(i.batch))
	for n, m := range i.batch {
		messages[n] = dueq.Message{Key: m.Key, Headers: m.Headers, Body: m.Body, Repeat: m.Repeat}
		messages[n].Due, messages[n].Delay = i.clock.schedule(m)
	}
	results, err := i.queue.SendBatch(ctx, messages)
	if err != nil {
		i.result.Failed += len(messages)
		return err
	}
	for n, r := range results {
		err = errors.Join(err, i.count(i.batch[n].Line, r.Err))
	}
	i.batch, i.size = i.batch[:0], 0
	i.show(&i.result, i.in.Bytes(), false)
	return err
}

// count counts one result. It returns errors that are about the store and not about the
// message.
func (i *importer) count(line int, err error) error {
	switch {
	case err == nil:
		i.result.Stored++
	case errors.Is(err, dueq.ErrDuplicate):
		i.result.Duplicate++
	case errors.Is(err, dueq.ErrQueueFull):
		i.result.Refused++
	case errors.Is(err, dueq.ErrInvalid), errors.Is(err, dueq.ErrTooLarge):
		i.refuse(&jsonl.LineError{Line: line, Err: err})
	default:
		if i.result.Failed++; i.result.Failed == 1 { // the others say the same
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	return nil
}

// replay maps the times of a recorded schedule to now.
type replay struct {
	speed float64 // 0: no replay, times are not changed
	start time.Time
	first time.Time // the due time that is mapped to start
}

// see learns the first due time.
func (r *replay) see(m jsonl.Message) {
	if r.first.IsZero() {
		r.first = m.Due
	}
}

// schedule returns when a message that is sent now is to be due. In a replay that is
// a delay, so that only the store's clock matters.
func (r *replay) schedule(m jsonl.Message) (time.Time, time.Duration) {
	switch {
	case r.speed == 0:
		return m.Due, m.Delay
	case m.Due.IsZero():
		return time.Time{}, r.compress(m.Delay)
	}
	return time.Time{}, max(0, r.compress(m.Due.Sub(r.first))-time.Since(r.start))
}

// compress divides a span by the speed; a result that is too long becomes the longest
// time.Duration.
func (r *replay) compress(d time.Duration) time.Duration {
	const longest = math.MaxInt64
	scaled := float64(d) / r.speed
	switch {
	case scaled >= longest:
		return longest
	case scaled <= 0: // due before the first one
		return 0
	}
	return time.Duration(scaled)
}
