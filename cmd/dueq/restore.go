package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/transfer"
)

// restoreResult is what the import of an export has done. Scripts rely on these names.
type restoreResult struct {
	Queues   int      `json:"queues"`
	Messages int      `json:"messages"`
	Known    int      `json:"known"`   // were there
	Refused  int      `json:"refused"` // are not stored
	Finished []string `json:"finished"`
}

func (r restoreResult) text() string {
	text := fmt.Sprintf("%d queues, %d messages stored, %d were there, %d refused\n", r.Queues, r.Messages, r.Known, r.Refused)
	for _, queue := range r.Finished {
		text += fmt.Sprintf("queue %s was imported from this file before: nothing is done\n", queue)
	}
	return text
}

// isExport reports whether a file begins as an export does. It waits for no more than it needs: a
// short line is to be sent at once.
func isExport(in *bufio.Reader) (bool, error) {
	for n := 1; n <= len(transfer.Magic); n++ {
		start, err := in.Peek(n)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, usage("read the file to import: %w", err)
		}
		if string(start) != transfer.Magic[:n] {
			return false, nil
		}
	}
	return true, nil
}

// restore imports an export, only the queue named if there is a name.
func (a *app) restore(ctx context.Context, client *dueq.Client, in io.Reader, only string) error {
	whole, remove, err := seekable(in)
	if err != nil {
		return err
	}
	defer remove()
	done, err := transfer.Import(ctx, client.Store(), whole, only, func(err error) {
		_, _ = fmt.Fprintln(a.err, oneLine(err, a.withToken(a.storeURL()))) // counted all the same
	})
	var bad *transfer.LineError
	switch {
	case errors.As(err, &bad):
		return fmt.Errorf("import: %w; nothing was changed", err)
	case err != nil && done.Messages+done.Known > 0:
		return fmt.Errorf("import: %w; import the same file again to continue", err)
	case err != nil:
		return err
	}
	err = a.print(restoreResult{done.Queues, done.Messages, done.Known, done.Refused, append([]string{}, done.Finished...)})
	if err == nil && done.Refused > 0 {
		err = fmt.Errorf("import: %d messages were refused: %w", done.Refused, dueq.ErrDuplicate)
	}
	return err
}

// seekable returns all of in, in a file that remove deletes: an export is read twice, first to be
// checked.
func seekable(in io.Reader) (whole io.ReadSeeker, remove func(), err error) {
	f, err := os.CreateTemp("", "dueq-import-*")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _, _ = f.Close(), os.Remove(f.Name()) } // it is a copy
	if _, err = io.Copy(f, in); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("copy the file to import: %w", err)
	}
	return f, remove, nil
}
