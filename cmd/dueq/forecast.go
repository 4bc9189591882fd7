package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// forecast is how many messages become due when. Scripts rely on these names.
type forecast struct {
	StepMS int64   `json:"step_ms"`
	Ready  int64   `json:"ready"`
	Counts []int64 `json:"counts"`
	Later  int64   `json:"later"`
}

func (f forecast) text() string {
	at := func(spans int) string {
		return (time.Duration(spans) * time.Duration(f.StepMS) * time.Millisecond).String()
	}
	rows := make([][]string, 0, len(f.Counts)+2)
	rows = append(rows, []string{"now", strconv.FormatInt(f.Ready, 10)})
	for i, n := range f.Counts {
		rows = append(rows, []string{at(i) + " to " + at(i+1), strconv.FormatInt(n, 10)})
	}
	rows = append(rows, []string{"later", strconv.FormatInt(f.Later, 10)})
	return term.Table([]string{"DUE IN", "MESSAGES"}, rows)
}

func newForecast(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forecast --queue NAME",
		Short: "Show how many messages become due when",
		Long: `Show how many messages of a queue are due now, become due in each of the next spans of time, and
later. Those whose TTL ends before are among them.`,
		Example: `  dueq forecast --queue orders                       # the minutes of the next 10
  dueq forecast --queue orders --step 1h --spans 24  # the hours of the next day`,
		Args: cobra.NoArgs,
	}
	step := time.Minute
	cmd.Flags().Var(span{&step}, "step", "length of a span")
	spans := cmd.Flags().Int("spans", 10, "`number` of spans, 1 to 100")
	return a.onQueue(cmd, func(ctx context.Context, q *dueq.Queue, _ []string) error {
		f, err := q.Forecast(ctx, step, *spans)
		if err != nil {
			return err
		}
		return a.print(forecast{StepMS: f.Step.Milliseconds(), Ready: f.Ready, Counts: f.Counts, Later: f.Later})
	})
}
