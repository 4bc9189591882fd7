package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
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

// demoLength is how long the replay takes.
const demoLength = 10 * time.Second

func newDemo(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Watch two days of flights depart on time, in 10 seconds",
		Long: `Replay two days of a real flight schedule in 10 seconds: every flight is a message that
must be delivered at its departure time and not earlier. It needs nothing at all; with
--store or DUEQ_STORE it runs on a Redis, in a queue of its own that it empties again.
(On a Redis of another machine both clocks must agree, since early and late are judged
by the clock of this one.)

The exit code is 1 if any message was early or lost.`,
		Example: "  dueq demo\n  dueq demo --store redis://localhost:6379",
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error {
			if a.storeURL() == "" {
				a.store = "mem:"
			}
			return a.withClient(ctx, func(client *dueq.Client) error {
				return a.demo(ctx, client.Queue("demo-"+strings.ToLower(rand.Text()[:8])), demoLength)
			})
		}),
	}
}

func (a *app) demo(ctx context.Context, q *dueq.Queue, length time.Duration) error {
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

// storeName tells people which store is used: its URL without user, password and
// options.
func storeName(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		scheme, _, _ := strings.Cut(text, ":")
		return term.Escape(scheme + ":")
	}
	return term.Escape(u.Scheme + "://" + u.Host)
}
