package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/child"
)

// exitTempFail is the exit status with which a command puts its message off: EX_TEMPFAIL of
// sysexits.h.
const exitTempFail = 75

// working are the flags of work.
type working struct {
	dueq.ConsumeOptions
	command string
	later   time.Duration
}

func newWork(a *app) *cobra.Command {
	w := working{later: time.Minute}
	cmd := &cobra.Command{
		Use:   "work --queue NAME --exec COMMAND",
		Short: "Run a command for each message",
		Long: `Run a command of the shell for each message that is due, until Ctrl-C or SIGTERM. The body is the
command's standard input. Its environment has DUEQ_QUEUE, DUEQ_ID, DUEQ_KEY, DUEQ_ATTEMPT,
DUEQ_FAILURES, DUEQ_MAX_ATTEMPTS, DUEQ_DUE, DUEQ_SENT_AT, DUEQ_HEADERS (a JSON object) and
DUEQ_FENCING_TOKEN, which grows with every delivery of a message.

The exit status is the verdict:
  0       the message is done
  75      it is put off by --later; no failure is counted
  others  it has failed, with the last line on standard error as the reason. It is delivered
          again after a backoff, and is a dead letter when its attempts are used up

The lease is extended as long as the command runs. If it is lost, or the message is cancelled, or
--timeout is over, the command and its children get SIGTERM, and SIGKILL 5 s later. When dueq is
asked to end, commands may continue for --grace; then they get SIGTERM, and their messages go back
to the queue without a failure.

Standard output and standard error are those of the commands, line by line; standard error has
the log, too.`,
		Example: `  dueq work --queue mail --exec './send-mail "$DUEQ_KEY"' --concurrency 8 --timeout 1m`,
		Args:    cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&w.command, "exec", "", "command of the shell")
	_ = cmd.MarkFlagRequired("exec") // fails only when there is no such flag
	flags.IntVar(&w.Concurrency, "concurrency", 1, "commands that run at a time, 1 to 10000")
	flags.Var(span{&w.Timeout}, "timeout", "how long a command may run (default: no limit)")
	flags.Var(span{&w.Grace}, "grace", "how long commands may continue after Ctrl-C (default 10s)")
	flags.Var(span{&w.Lease}, "lease", "how long messages wait when this process dies, 1s to 12h (default: what the queue is set to, or 30s)")
	flags.IntSliceVar(&w.Partitions, "partitions", nil, "the only partitions to take messages from, such as 0,3 (default: all, shared with other consumers)")
	flags.Var(span{&w.later}, "later", "how long a message is put off with exit status 75")
	return a.onQueue(a.warned(cmd, always), func(ctx context.Context, q *dueq.Queue, _ []string) error {
		switch {
		case w.command == "":
			return usage("--exec: is empty")
		case w.Concurrency < 1: // 0 would mean the default to the library
			return usage("--concurrency: %d is outside 1 to 10000", w.Concurrency)
		case flags.Changed("lease") && w.Lease < time.Second:
			return usage("--lease: %s is outside 1s to 12h", w.Lease)
		}
		return a.work(ctx, q, w)
	})
}

// work runs commands until ctx ends or their output cannot be written.
func (a *app) work(ctx context.Context, q *dueq.Queue, w working) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	output := &child.Output{Stdout: a.out, Stderr: a.err}
	err := q.Consume(ctx, func(ctx context.Context, d *dueq.Delivery) error {
		env, err := environment(d)
		if err != nil {
			return err
		}
		c := child.Command{Line: w.command, Env: env, Stdin: d.Body, Output: output}
		result, err := c.Run(ctx)
		if errors.Is(err, child.ErrOutput) {
			stop(err)
			return giveBack(ctx, []*dueq.Delivery{d}, err)
		}
		if err != nil {
			return err
		}
		return w.verdict(result)
	}, w.ConsumeOptions)
	if unwritten := context.Cause(ctx); errors.Is(unwritten, child.ErrOutput) {
		return errors.Join(err, unwritten)
	}
	return err
}

// verdict returns the result of a handler for the end of its command.
func (w *working) verdict(r child.Result) error {
	reason := fmt.Sprintf("exit status %d", r.Code)
	if r.Code < 0 {
		reason = "ended by a signal"
	}
	if r.Last != "" {
		reason += ": " + r.Last
	}
	switch r.Code {
	case 0:
		return nil
	case exitTempFail:
		return dueq.Snooze(w.later, reason)
	}
	return errors.New(reason)
}

// environment returns the variables of a command.
func environment(d *dueq.Delivery) ([]string, error) {
	headers := d.Headers
	if headers == nil {
		headers = map[string]string{}
	}
	encoded, err := json.Marshal(headers)
	if err != nil {
		return nil, fmt.Errorf("encode the headers: %w", err)
	}
	return []string{
		"DUEQ_QUEUE=" + d.Queue, "DUEQ_ID=" + d.ID, "DUEQ_KEY=" + d.Key,
		"DUEQ_ATTEMPT=" + strconv.Itoa(d.Attempt), "DUEQ_FAILURES=" + strconv.Itoa(d.Failures), "DUEQ_MAX_ATTEMPTS=" + strconv.Itoa(d.MaxAttempts),
		"DUEQ_DUE=" + timestamp(d.Due), "DUEQ_SENT_AT=" + timestamp(d.SentAt),
		"DUEQ_HEADERS=" + string(encoded), "DUEQ_FENCING_TOKEN=" + strconv.FormatInt(d.Token, 10),
	}, nil
}
