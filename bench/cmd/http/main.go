// Command http measures dueq serve with a file: store, by HTTP clients in this process:
//
//	go build -o /tmp/dueq ./cmd/dueq
//	cd bench && go run ./cmd/http -dueq /tmp/dueq -dir /var/tmp
//
// The server is a process of its own, with its default flags; its access log goes to a file. CPU is
// that of the server's process. Linux only, because it reads /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	dueq, dir string
	clients   int
	messages  int
	singles   int
	polls     int
	slow      int
	looks     int
	store     string
	parts     string
}

// part is one measurement.
type part struct {
	name string
	run  func(*bench, context.Context) error
}

func parts() []part {
	return []part{
		{"batch", (*bench).batches},
		{"single", (*bench).singles},
		{"poll", (*bench).longPolls},
		{"slow", (*bench).slowCallers},
		{"large", (*bench).largeBodies},
		{"idle", (*bench).idlePolls},
		{"look", (*bench).looks},
	}
}

// bench measures one server.
type bench struct {
	options
	out    io.Writer
	server *server
	client *client
}

func main() {
	var o options
	flag.StringVar(&o.dueq, "dueq", "dueq", "the `program` dueq")
	flag.StringVar(&o.dir, "dir", "", "`directory` on a real disk for the store (default that of temporary files)")
	flag.StringVar(&o.store, "store", "", "`URL` of a store that is empty (default a new directory)")
	flag.IntVar(&o.looks, "looks", 200, "requests of each kind that look at the queue")
	flag.IntVar(&o.clients, "clients", 64, "concurrent clients, each with a connection")
	flag.IntVar(&o.messages, "messages", 600_000, "messages in batches")
	flag.IntVar(&o.singles, "singles", 60_000, "messages in requests of their own")
	flag.IntVar(&o.polls, "polls", 10_000, "idle long polls")
	flag.IntVar(&o.slow, "slow", 500, "connections that send a byte a second")
	flag.StringVar(&o.parts, "parts", "", "comma-separated parts: batch, single, poll, slow, large, idle, look (default all)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "http:", err)
		stop()
		os.Exit(1)
	}
}

// run measures each part with a server of its own.
func run(ctx context.Context, o options) error {
	chosen := strings.Split(o.parts, ",")
	for _, p := range parts() {
		if o.parts != "" && !slices.Contains(chosen, p.name) {
			continue
		}
		if err := measure(ctx, o, p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func measure(ctx context.Context, o options, p part) (err error) {
	s, err := start(ctx, o.dueq, o.dir, o.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	b := &bench{options: o, out: os.Stdout, server: s, client: newClient(s.url, o.clients)}
	defer b.client.close()
	return p.run(b, ctx)
}

// meter has what a server had used at the beginning of a measurement.
type meter struct {
	b     *bench
	began time.Time
	cpu   time.Duration
	sent  int64
	got   int64
}

func (b *bench) begin() (meter, error) {
	cpu, err := b.server.cpu()
	return meter{b, time.Now(), cpu, b.client.sent.Load(), b.client.received.Load()}, err
}

// report prints a line about n of something.
func (m meter) report(what string, n int, unit string, took []time.Duration) error {
	span := time.Since(m.began)
	cpu, err := m.b.server.cpu()
	if err != nil {
		return err
	}
	slices.Sort(took)
	_, err = fmt.Fprintf(m.b.out, "%-28s %7d %s  %7.0f/s  server %5.1f us/%s  sent %5d B/%s  received %5d B/%s  p50 %7.2f ms  p99 %7.2f ms\n",
		what, n, unit+"s", float64(n)/span.Seconds(), float64((cpu-m.cpu).Microseconds())/float64(n), unit,
		(m.b.client.sent.Load()-m.sent)/int64(n), unit, (m.b.client.received.Load()-m.got)/int64(n), unit,
		milliseconds(quantile(took, 0.5)), milliseconds(quantile(took, 0.99)))
	return err
}

// quantile returns a quantile of sorted times.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
