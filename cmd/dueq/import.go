package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/jsonl"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// importResult counts the lines by their results. Blank lines are not counted.
type importResult struct {
	Queue     string `json:"queue"`
	Lines     int    `json:"lines"`
	Stored    int    `json:"stored"`
	Duplicate int    `json:"duplicate_key"`
	Refused   int    `json:"refused"` // the queue was full
	Bad       int    `json:"bad"`
	Failed    int    `json:"failed"` // by an error that ended the import; may have been stored
}

func (r *importResult) text() string {
	text := fmt.Sprintf("%d lines: %d stored, %d duplicate key, %d refused, %d bad", r.Lines, r.Stored, r.Duplicate, r.Refused, r.Bad)
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	return text + "\n"
}

// err returns why some messages are not stored, nil if all are. Duplicates are no error: a
// second import of the same file has them.
func (r *importResult) err() error {
	switch {
	case r.Bad > 0:
		return fmt.Errorf("import: %d of %d lines are bad", r.Bad, r.Lines)
	case r.Refused > 0:
		return fmt.Errorf("import: queue %q is full, %d of %d lines were %w", r.Queue, r.Refused, r.Lines, errRefused)
	}
	return nil
}

func newImport(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import [--queue NAME] (FILE | -)",
		Short: "Import an export, or send messages from a file of JSON lines",
		Long: `Import what "dueq export" has written, from a file or from standard input: the queues are made
with their settings, paused until all of their messages are there, and then as they were. The whole
file is checked before anything is changed. An import that was interrupted is continued by importing
the same file again; nothing is stored twice. A queue that exists is not changed, and the exit code
is 4. With --queue only that queue is imported.

Any other file is one of messages to send to a queue. Each line is an object:

  {"key": "order-42", "due": "2030-01-31T18:00:00Z", "body": {"order": 42}, "headers": {"h": "v"}}
  {"delay": "1d12h", "body": "any text"}

  body     required. The text of a string; of any other JSON value its compact form
  key      optional name of your own; at most one live message has it
  due      RFC 3339, a due time in the past means now; or
  delay    a duration such as 90s, 1h30m, 2d; with neither the message is due now
  headers  optional object of strings
  repeat   optional schedule of a recurring message, which needs a key: "every 10m",
           or "cron 0 9 * * 1-5 Europe/Berlin", as dueq send and dueq list have it

A line is bad if it has any other field or anything behind the object. A bad line (at most
8 MiB) is reported on standard error with its number, the other lines are sent, and the
exit code is 1. A duplicate key is counted and is no error, so a file of messages that
all have keys can be imported again after an interruption. The exit code is 6 when the
queue was full.

With --speed N a recorded schedule is replayed: the first due time of the file means
now, and all distances from it, and delays, are divided by N. Schedules are not changed.`,
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		Args:              cobra.ExactArgs(1),
	}
	var speed float64
	cmd.Flags().Var(factor{&speed}, "speed", "replay: the first due time means now, distances are divided by this")
	queue := cmd.Flags().StringP("queue", "q", "", "name of the queue (of an export, default: all of them)")
	a.warned(cmd, always).RunE = a.do(func(ctx context.Context, args []string) error {
		in, size, err := a.openInput(ctx, args[0])
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }() // it was only read
		buffered := bufio.NewReader(in)
		export, err := isExport(buffered)
		switch {
		case err != nil:
			return err
		case export && speed != 0:
			return usage("--speed: is for messages to send, not for an export")
		case !export && !cmd.Flags().Changed("queue"):
			return usage("--queue: is missing, the file is no export")
		}
		return a.withClient(ctx, func(client *dueq.Client) error {
			if export {
				return a.restore(ctx, client, buffered, *queue)
			}
			return a.runImport(ctx, a.importer(client.Queue(*queue), buffered, size, speed))
		})
	})
	return cmd
}

func (a *app) importer(q *dueq.Queue, in io.Reader, size int64, speed float64) *importer {
	return &importer{
		queue: q, clock: replay{speed: speed, start: time.Now()}, result: importResult{Queue: q.Name()},
		in:   jsonl.NewReader(in),
		bad:  func(err error) { _, _ = fmt.Fprintln(a.err, oneLine(err, a.withToken(a.storeURL()))) }, // counted all the same
		show: a.progress(q.Name(), size),
	}
}

func (a *app) runImport(ctx context.Context, i *importer) error {
	err := i.run(ctx)
	if err == nil {
		err = i.result.err()
	}
	return errors.Join(err, a.print(&i.result))
}

// progress returns what shows how far an import is, in place on a terminal and not at
// all elsewhere. It shows nothing more after it was called with done.
func (a *app) progress(queue string, size int64) func(r *importResult, read int64, done bool) {
	if !term.IsTerminal(a.err) {
		return func(*importResult, int64, bool) {}
	}
	return drawProgress(a.err, queue, size)
}

// drawEvery is how often the progress is drawn: rarely enough to cost almost nothing.
const drawEvery = 100 * time.Millisecond

func drawProgress(w io.Writer, queue string, size int64) func(r *importResult, read int64, done bool) {
	live, start, drawn := term.Live{W: w}, time.Now(), time.Time{}
	return func(r *importResult, read int64, done bool) {
		if done {
			_ = live.Clear() // progress is for looking at, nothing depends on it
			return
		}
		if time.Since(drawn) < drawEvery {
			return
		}
		drawn = time.Now()
		text := fmt.Sprintf("import to %s: %d lines, %.0f/s", queue, r.Lines, float64(r.Lines)/time.Since(start).Seconds())
		if size > 0 {
			share := float64(read) / float64(size)
			text = fmt.Sprintf("%s %3.0f %%  %s", term.Bar(share, 20), 100*share, text)
		}
		_ = live.Draw([]string{term.Cut(text, term.Width(w, 80))}) // as above
	}
}
