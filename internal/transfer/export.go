package transfer

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/dueq-dev/dueq/store"
)

// exportPage is how many messages are read at a time.
const exportPage = 200

// Exported is what an export has written.
type Exported struct {
	Queues     int
	Messages   int
	Leased     int      // of them, those that a consumer has: they are due when their leases end
	Cancelling int      // messages that are left out, because their holders have been asked to stop
	Unreadable int      // messages that are left out, because the store cannot read them
	Running    []string // queues that are not paused
}

// exporter writes an export.
type exporter struct {
	store  store.Store
	out    *bufio.Writer
	sum    hash.Hash
	result Exported
}

// Export writes queues, or all if none is named, with their settings and messages. Memory does not
// grow with the number of messages. While a queue is not paused, messages that change their state
// may be missed or written twice.
func Export(ctx context.Context, s store.Store, queues []string, w io.Writer) (Exported, error) {
	e := &exporter{store: s, out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	err := e.run(ctx, queues)
	return e.result, err
}

func (e *exporter) run(ctx context.Context, queues []string) error {
	named := len(queues) > 0
	if !named {
		var err error
		if queues, err = e.store.Queues(ctx); err != nil {
			return err
		}
	}
	if err := e.write(line{Export: version}); err != nil {
		return err
	}
	for _, queue := range queues {
		if err := e.queue(ctx, queue); err != nil && (named || !errors.Is(err, store.ErrNotFound)) {
			return err
		}
	}
	last := end{Queues: e.result.Queues, Messages: e.result.Messages, SHA256: hex.EncodeToString(e.sum.Sum(nil))}
	if err := e.write(line{End: &last}); err != nil {
		return err
	}
	return e.out.Flush()
}

func (e *exporter) write(l line) error {
	text, err := encode(l)
	if err != nil {
		return err
	}
	_, _ = e.sum.Write(text) // never fails
	_, err = e.out.Write(text)
	return err
}

func (e *exporter) queue(ctx context.Context, queue string) error {
	settings, err := e.store.Configure(ctx, queue, store.Change{})
	if err != nil {
		return err
	}
	if settings.From != 0 {
		return fmt.Errorf("queue %q is growing from %d to %d partitions, and can be exported when that has ended: %w",
			queue, settings.From, settings.Partitions, store.ErrUnavailable)
	}
	if !settings.Paused {
		e.result.Running = append(e.result.Running, queue)
	}
	partitions := settings.Partitions
	settings.Version, settings.ChangedBy, settings.Drained = 0, "", 0
	e.result.Queues++
	if err := e.write(line{Queue: queue, Settings: &settings}); err != nil {
		return err
	}
	for i := range partitions {
		// In this order no message is missed that leaves its state while the queue is paused: a
		// leased one becomes waiting or dead, and comes twice.
		for _, state := range []store.State{store.Leased, store.Waiting, store.Dead, store.Done} {
			if err := e.messages(ctx, store.Partition{Queue: queue, Index: i}, state); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exporter) messages(ctx context.Context, p store.Partition, state store.State) error {
	r := store.ListRequest{State: state, Limit: exportPage, BodyLimit: store.MaxBody}
	for {
		page, err := e.store.List(ctx, p, r)
		if err != nil {
			return err
		}
		for i := range page.Records {
			if err := e.record(&page.Records[i]); err != nil {
				return err
			}
		}
		if r.Cursor = page.Next; r.Cursor == "" {
			return nil
		}
	}
}

func (e *exporter) record(r *store.Record) error {
	switch {
	case r.MaxAttempts == 0:
		e.result.Unreadable++
		return nil
	case r.Cancelling:
		e.result.Cancelling++
		return nil
	case r.State == store.Leased:
		e.result.Leased++
		r.State = store.Waiting
	}
	e.result.Messages++
	return e.write(line{message: newMessage(r)})
}
