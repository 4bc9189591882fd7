package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/bench"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
	"github.com/dueq-dev/dueq/internal/rawredis"
)

type benchResult struct{ *bench.Report }

func (r benchResult) text() string { return r.Text() }

// The limits of the flags: larger values are taken for typing errors.
const (
	maxBenchMessages   = 10_000_000
	maxBenchBody       = 256 << 10 // of a queue with default settings
	maxBenchProducers  = 10_000
	maxBenchPartitions = 1024
	maxBenchRounds     = 100
	maxBenchTime       = time.Hour
)

func newBench(a *app) *cobra.Command {
	c := bench.Config{
		Mode: bench.All, Messages: 100_000, Body: 100, Producers: []int{1, 16, 128}, Concurrency: 100,
		Partitions: 1, Rounds: 5, For: 10 * time.Second,
	}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a store costs and how fast it is",
		Long: `Measure the cost of sending, draining and waiting on a store, and how late messages are.
On a Redis, measure also the least that a safe queue must do (the floor: a minimal Lua
loop that stores, leases and acks in batches), alternately on the same server.

It uses keys with a prefix of its own, which it removes at the end and after Ctrl-C.
CPU, commands and bytes are those of the whole server, or the sums of all masters of a
Cluster, so nothing else should use it. It needs about 900 bytes of memory for each message
and each one of the backlog (with bodies of 100 bytes). With the defaults it takes about two
minutes.

docs/BENCHMARKS.md says what each figure means and how to repeat it.`,
		Example: "  dueq bench --store redis://localhost:6379\n  dueq bench --mode drain --messages 20000 --backlog 1000000 -o json",
		Args:    cobra.NoArgs,
		RunE:    a.do(func(ctx context.Context, _ []string) error { return a.bench(ctx, c) }),
	}
	modes := []string{bench.Send, bench.Drain, bench.Lateness, bench.Idle, bench.Memory, bench.All}
	flags := cmd.Flags()
	flags.Var(&choice{value: &c.Mode, of: modes}, "mode", "what to measure")
	flags.Var(count{&c.Messages, 1, maxBenchMessages}, "messages", "messages of each round, and of the memory measurement")
	flags.Var(count{&c.Body, 0, maxBenchBody}, "body", "bytes of a body")
	flags.Var(counts{&c.Producers, 1, maxBenchProducers}, "producers", "how many goroutines call Send; each gets figures of its own")
	flags.Var(count{&c.Concurrency, 1, maxBenchProducers}, "concurrency", "handlers while draining")
	flags.Var(count{&c.Partitions, 1, maxBenchPartitions}, "partitions", "partitions of the queue")
	flags.Var(count{&c.Backlog, 0, maxBenchMessages}, "backlog", "messages due tomorrow that are in the queue while others are sent and drained")
	flags.Var(count{&c.Rounds, 1, maxBenchRounds}, "rounds", "how often to send and drain; the median counts")
	flags.Var(limitedSpan{&c.For, time.Second, maxBenchTime}, "for", "how long to watch lateness and idleness")
	return cmd
}

// bench runs in a key prefix of its own.
func (a *app) bench(ctx context.Context, c bench.Config) error {
	return a.benchIn(ctx, "dueq-bench-"+strings.ToLower(rand.Text()[:12]), c)
}

func (a *app) benchIn(ctx context.Context, prefix string, c bench.Config) error {
	url := rawredis.Prefixed(a.storeURL(), prefix)
	a.store = url
	return a.withClient(ctx, func(client *dueq.Client) (err error) {
		c.Client = client
		if rawredis.Served(url) {
			if c.Server, err = rawredis.Dial(url, prefix); err != nil {
				return usage("--store: %w", err)
			}
			defer func() { err = errors.Join(err, c.Server.Close()) }()
		}
		return a.runBench(ctx, c, storeName(url))
	})
}

func (a *app) runBench(ctx context.Context, c bench.Config, name string) error {
	show, end := a.benchProgress()
	c.Progress = show
	report, err := bench.Run(ctx, c)
	end()
	if errors.Is(err, bench.ErrNotEmpty) {
		return fmt.Errorf("bench: %w: %w", err, errRefused)
	}
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	report.Store = name
	return a.print(benchResult{report})
}

// benchProgress returns a function that shows the progress on a terminal, and one that
// removes it from the screen.
func (a *app) benchProgress() (show func(what string, round, of int), end func()) {
	if !term.IsTerminal(a.err) {
		return func(string, int, int) {}, func() {}
	}
	live := term.Live{W: a.err}
	show = func(what string, round, of int) {
		text := fmt.Sprintf("%s %s", term.Bar(float64(round)/float64(of), 20), what)
		_ = live.Draw([]string{term.Cut(text, term.Width(a.err, 80))}) // progress is for looking at, nothing depends on it
	}
	return show, func() { _ = live.Clear() } // as above
}
