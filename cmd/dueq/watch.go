package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
)

func newWatch(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [QUEUE]",
		Short: "Print a line for each change of queues, as they change",
		Long: `Print a line for every queue, or for one, and then one each time that its sizes or counters have
changed: for pipes and CI. With --all every queue is printed each time. -o json prints an object a
line. Counts with a plus are since the line before. On a terminal, "dueq top" shows the same.`,
		Example: `  dueq watch orders
  dueq watch -o json --every 10s | jq -c 'select(.dead > 0)'
  dueq watch --count 1                                    # once`,
		ValidArgsFunction: a.completeQueue,
		Args:              cobra.MaximumNArgs(1),
	}
	every := 2 * time.Second
	cmd.Flags().Var(span{&every}, "every", "how often the queues are looked at, from 100ms")
	all := cmd.Flags().Bool("all", false, "print every queue each time")
	count := cmd.Flags().Int("count", 0, "end after the queues have been looked at `number` times (0: do not end)")
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		if err := checkEvery(every); err != nil {
			return err
		}
		queue := ""
		if len(args) > 0 {
			queue = args[0]
		}
		return a.withClient(ctx, func(client *dueq.Client) error {
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			w := watching{a: a, all: *all, left: *count, take: func() (sample, error) { return takeSample(ctx, client, queue) }}
			return w.run(ctx, ticker.C)
		})
	})
	return cmd
}

// leastEvery is the shortest time between two looks: each reads every partition.
const leastEvery = 100 * time.Millisecond

func checkEvery(every time.Duration) error {
	if every < leastEvery {
		return usage("--every: %s is less than %s", every, leastEvery)
	}
	return nil
}

// watching prints samples.
type watching struct {
	a    *app
	take func() (sample, error)
	all  bool
	left int // samples; not positive: no limit

	before sample
}

// run takes a sample at once and one at each tick, until ctx ends, which is no error.
func (w *watching) run(ctx context.Context, ticks <-chan time.Time) error {
	for {
		if err := w.look(); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the user has ended it
			}
			return err
		}
		if w.left--; w.left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

func (w *watching) look() error {
	s, err := w.take()
	if err != nil {
		return err
	}
	for _, c := range s.since(w.before) {
		if w.all || c.differs(w.before) {
			if err := w.a.print(&c); err != nil {
				return err
			}
		}
	}
	w.before = s
	return nil
}
