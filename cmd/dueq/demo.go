package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/demo"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

type demoResult struct{ demo.Result }

func (r demoResult) text() string { return "\n" + r.Table() }

const (
	demoLength = 10 * time.Second // how long the replay takes
	demoQueue  = "dueq-demo"      // always the same, so that demos leave no more than one name behind
)

func newDemo(a *app) *cobra.Command {
	var web bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch two days of flights depart on time, in 10 seconds",
		Long: `Replay two days of a real flight schedule in 10 seconds: every flight is a message that
must be delivered at its departure time and not earlier. It needs nothing at all; with
--store or DUEQ_STORE it runs on a Redis, in a queue of its own that it empties again.
(On a Redis of another machine both clocks must agree, since early and late are judged
by the clock of this one.)

With --web it takes 2 minutes, and its first line is the address of a dashboard, on which the
flights depart. They begin when a browser shows it.

The exit code is 1 if any message was early or lost.`,
		Example: "  dueq demo\n  dueq demo --web\n  dueq demo --store redis://localhost:6379",
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error {
			if a.storeURL() == "" {
				a.store = "mem:"
			}
			a.logLevel = slog.LevelError + 1 // the demo shows its dead letters itself
			return a.withClient(ctx, func(client *dueq.Client) error {
				if !web {
					return a.demo(ctx, client.Queue(demoQueue), demoLength)
				}
				return a.demoWeb(ctx, client, a.beside(), func(ctx context.Context) error {
					return a.demo(ctx, client.Queue(demoQueue), webLength)
				})
			})
		}),
	}
	cmd.Flags().BoolVar(&web, "web", false, "show it on a dashboard in the browser")
	return cmd
}

// beside returns where to write what is no result: scripts read JSON on standard output.
func (a *app) beside() io.Writer {
	if a.output == formatJSON {
		return a.err
	}
	return a.out
}

func (a *app) demo(ctx context.Context, q *dueq.Queue, length time.Duration) error {
	if err := unused(ctx, q); err != nil {
		return err
	}
	screen := a.demoScreen(length)
	r, err := demo.Run(ctx, q, demo.Config{Length: length, Screen: screen})
	if err != nil {
		return err
	}
	if err := a.print(demoResult{r}); err != nil {
		return err
	}
	if r.Early > 0 || r.Lost > 0 {
		return fmt.Errorf("demo: %d early, %d lost", r.Early, r.Lost)
	}
	return nil
}

// unused returns an error if the queue has messages: the demo would take them for flights.
func unused(ctx context.Context, q *dueq.Queue) error {
	s, err := q.Stats(ctx)
	if errors.Is(err, dueq.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if n := s.Scheduled + s.Ready + s.Leased + s.Dead; n > 0 {
		return fmt.Errorf("demo: queue %q holds %d messages: another demo is running, or was killed and left them; "+
			"dueq purge --queue %s --state STATE --all removes them", q.Name(), n, q.Name())
	}
	return nil
}

// demoScreen begins the output and returns what shows the rest: nothing for scripts.
func (a *app) demoScreen(length time.Duration) func(demo.View) {
	if a.output == formatJSON {
		return func(demo.View) {}
	}
	_, _ = io.WriteString(a.out, demo.Intro(storeName(a.storeURL()), length)) // a broken output is noticed at the end
	if term.IsTerminal(a.out) {
		return demo.Board(a.out, a.env("NO_COLOR") == "")
	}
	return demo.Log(a.out)
}

// storeName returns the store's URL without user, password and options, to be shown.
func storeName(text string) string {
	if strings.HasPrefix(text, "file:") {
		text, _, _ = strings.Cut(text, "?")
		return term.Escape(text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		scheme, _, _ := strings.Cut(text, ":")
		return term.Escape(scheme + ":")
	}
	return term.Escape(u.Scheme + "://" + u.Host)
}
