package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dueq-dev/dueq/store"
)

// Tokens of the changes that begin and finish the import of a queue. What is behind them
// identifies the export.
const (
	importing = "importing-"
	imported  = "imported-"
)

// Imported is what an import has done.
type Imported struct {
	Queues   int
	Messages int // stored by this import
	Known    int // were there before
	Refused  int // are not stored
	Finished []string
}

// importer restores the messages of an export.
type importer struct {
	store    store.Store
	in       *reader
	only     string
	sections map[string]section
	refused  func(error)
	result   Imported

	queue   string // the one whose messages follow; "": they are passed over
	version int64  // of its settings
	at      store.Partition
	batch   []store.Record
	lines   []int // of the messages in batch
	size    int
}

// Import makes the queues of an export, or the one named only, with their messages. The whole file
// is read and checked before anything is changed. Each queue is paused until all of its messages
// are there.
//
// An import that was interrupted is continued by importing the same file again: nothing is stored
// twice. A queue that was imported from the same file before is passed over, any other that exists
// is ErrExists. refused is called for each message that is not stored, because a producer has sent
// another one with its key meanwhile, or the queue keeps no done messages.
func Import(ctx context.Context, s store.Store, in io.ReadSeeker, only string, refused func(error)) (Imported, error) {
	sections, err := check(in)
	if err != nil {
		return Imported{}, err
	}
	if _, ok := sections[only]; only != "" && !ok {
		return Imported{}, &store.Error{Queue: only, Err: fmt.Errorf("is not in the file: %w", store.ErrNotFound)}
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return Imported{}, fmt.Errorf("read the file again: %w", err)
	}
	i := &importer{store: s, in: newReader(in), only: only, sections: sections, refused: refused}
	err = i.run(ctx)
	return i.result, err
}

func (i *importer) run(ctx context.Context) error {
	for {
		l, _, err := i.in.decoded()
		switch {
		case err != nil: // also at the end of the file, which check has found before
			return err
		case l.End != nil:
			return i.finish(ctx)
		case l.Queue != "":
			err = i.begin(ctx, l.Queue)
		case l.Export == 0 && i.queue != "":
			err = i.add(ctx, &l)
		}
		if err != nil {
			return err
		}
	}
}

// begin finishes the queue before, and makes the next one.
func (i *importer) begin(ctx context.Context, queue string) error {
	if err := i.finish(ctx); err != nil || i.only != "" && i.only != queue {
		return err
	}
	s := i.sections[queue]
	c, paused := changeTo(s.settings), true
	c.Paused, c.If, c.Token = &paused, store.IfMissing, importing+s.sum
	made, err := i.store.Configure(ctx, queue, c)
	if errors.Is(err, store.ErrConflict) {
		made, err = i.store.Configure(ctx, queue, store.Change{})
	}
	switch {
	case err != nil:
		return err
	case made.ChangedBy == imported+s.sum:
		i.result.Finished = append(i.result.Finished, queue)
		return nil
	case made.ChangedBy != importing+s.sum:
		return &store.Error{Op: "import", Queue: queue, Err: fmt.Errorf("%w: an import makes its queues", store.ErrExists)}
	}
	i.queue, i.version = queue, made.Version
	i.result.Queues++
	return nil
}

// finish stores what is left of a queue's messages, and gives it the state in which it was
// exported: running, unless it was paused.
func (i *importer) finish(ctx context.Context) error {
	if i.queue == "" {
		return nil
	}
	if err := i.flush(ctx); err != nil {
		return err
	}
	s := i.sections[i.queue]
	_, err := i.store.Configure(ctx, i.queue, store.Change{If: i.version, Token: imported + s.sum, Paused: &s.settings.Paused})
	i.queue = ""
	return err
}

func (i *importer) add(ctx context.Context, l *line) error {
	r, err := l.record()
	if err != nil {
		return &LineError{i.in.n, err}
	}
	m := r.Message()
	p, size := store.Partition{Queue: i.queue, Index: r.ID.Partition()}, m.Size()+len(r.LastFailure)
	if p != i.at || len(i.batch) == store.MaxBatch || i.size+size > store.MaxBatchBytes {
		if err := i.flush(ctx); err != nil {
			return err
		}
		i.at = p
	}
	i.batch, i.lines, i.size = append(i.batch, r), append(i.lines, i.in.n), i.size+size
	return nil
}

// flush stores the batch.
func (i *importer) flush(ctx context.Context) error {
	if len(i.batch) == 0 {
		return nil
	}
	r := store.RestoreRequest{Messages: i.batch, Of: i.sections[i.at.Queue].settings.Partitions}
	codes, err := i.store.Restore(ctx, i.at, r)
	if err != nil {
		return err
	}
	for n, code := range codes {
		switch code {
		case store.CodeOK:
			i.result.Messages++
		case store.CodeKnown:
			i.result.Known++
		default:
			i.result.Refused++
			i.refused(&LineError{i.lines[n], &store.Error{Op: "import", Queue: i.at.Queue, ID: i.batch[n].ID.String(), Err: refusal(code)}})
		}
	}
	clear(i.batch) // or it would keep the bodies
	i.batch, i.lines, i.size = i.batch[:0], i.lines[:0], 0
	return nil
}

func refusal(code store.Code) error {
	if code == store.CodeGone {
		return errors.New("the queue keeps no done messages")
	}
	return code.Err()
}
