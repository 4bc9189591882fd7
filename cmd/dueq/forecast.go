package main

import (
	"context"
	"errors"
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

// outlook is when the messages of one of several queues become due. Scripts rely on these names.
type outlook struct {
	Queue   string `json:"queue"`
	Ready   int64  `json:"ready"`
	In10Min int64  `json:"in_10m"` // from now on, those that are ready not counted
	InHour  int64  `json:"in_1h"`
	InDay   int64  `json:"in_1d"`
	Later   int64  `json:"later"`
}

type outlooks []outlook

func (o outlooks) text() string {
	rows := make([][]string, len(o))
	for i, q := range o {
		rows[i] = append([]string{q.Queue}, numbers(q.Ready, q.In10Min, q.InHour, q.InDay, q.Later)...)
	}
	return term.Table([]string{"QUEUE", "DUE NOW", "IN 10 MIN", "IN 1 HOUR", "IN 1 DAY", "LATER"}, rows)
}

func newForecast(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forecast [--queue NAME]",
		Short: "Show how many messages become due when",
		Long: `Show how many messages of a queue are due now, become due in each of the next spans of time, and
later. Those whose TTL ends before are among them. Without --queue, show for every queue how many are
due now, become due within the next 10 minutes, the next hour and the next day, and later.`,
		Example: `  dueq forecast                                      # every queue
  dueq forecast --queue orders                       # the minutes of the next 10
  dueq forecast --queue orders --step 1h --spans 24  # the hours of the next day`,
		Args: cobra.NoArgs,
	}
	step := time.Minute
	queue := cmd.Flags().StringP("queue", "q", "", "name of the queue (default: every queue)")
	cmd.Flags().Var(span{&step}, "step", "length of a span")
	spans := cmd.Flags().Int("spans", 10, "`number` of spans, 1 to 100")
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		one := cmd.Flags().Changed("queue")
		if !one && (cmd.Flags().Changed("step") || cmd.Flags().Changed("spans")) {
			return usage("--queue: is missing, --step and --spans are for one queue")
		}
		return a.withClient(ctx, func(client *dueq.Client) error {
			if !one {
				return a.forecastAll(ctx, client)
			}
			f, err := client.Queue(*queue).Forecast(ctx, step, *spans)
			if err != nil {
				return err
			}
			return a.print(forecast{StepMS: f.Step.Milliseconds(), Ready: f.Ready, Counts: f.Counts, Later: f.Later})
		})
	})
	return cmd
}

func (a *app) forecastAll(ctx context.Context, client *dueq.Client) error {
	names, err := client.Store().Queues(ctx)
	if err != nil {
		return err
	}
	all := make(outlooks, 0, len(names))
	for _, name := range names {
		o, err := outlookOf(ctx, client.Queue(name))
		switch {
		case errors.Is(err, dueq.ErrNotFound): // deleted meanwhile
		case err != nil:
			return err
		default:
			all = append(all, o)
		}
	}
	return a.print(all)
}

func outlookOf(ctx context.Context, q *dueq.Queue) (outlook, error) {
	const steps, hours = 6, 24
	hour, err := q.Forecast(ctx, time.Hour/steps, steps)
	if err != nil {
		return outlook{}, err
	}
	day, err := q.Forecast(ctx, time.Hour, hours)
	if err != nil {
		return outlook{}, err
	}
	o := outlook{Queue: q.Name(), Ready: hour.Ready, In10Min: hour.Counts[0], Later: day.Later}
	for _, n := range hour.Counts {
		o.InHour += n
	}
	for _, n := range day.Counts {
		o.InDay += n
	}
	return o, nil
}
