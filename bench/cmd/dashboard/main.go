// Command dashboard fills an empty store with many messages in many queues and serves the dashboard
// on it, for web/test/million.mjs, which opens its pages in a browser:
//
//	cd bench && go run ./cmd/dashboard -store file:/tmp/million
//
// The first line on standard output says how long filling took, the second one is the URL. Beside the
// dashboard there is POST /calls, which returns the calls of the store since the request before, by
// their methods, and for a Redis what its SLOWLOG has of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

// options are the flags.
type options struct {
	store    string
	messages int
	queues   int
}

func main() {
	var o options
	flag.StringVar(&o.store, "store", "mem:", "`URL` of an empty store")
	flag.IntVar(&o.messages, "messages", 1_000_000, "messages to send")
	flag.IntVar(&o.queues, "queues", 200, "queues to send them to, the first of which get most")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	watch, err := newWatch(o.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, watch.close()) }()
	client, err := dueq.Open(ctx, o.store, &dueq.Options{Name: "bench", Hooks: dueq.Hooks{OnCall: watch.note}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	began := time.Now()
	if err := fill(ctx, client, o); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d messages in %d queues in %.1f s\n", o.messages, o.queues, time.Since(began).Seconds())
	if err != nil {
		return err
	}
	return serve(ctx, out, client, watch)
}

// serve serves the dashboard until ctx ends.
func serve(ctx context.Context, out io.Writer, client *dueq.Client, watch *watch) error {
	//nolint:contextcheck // requests have contexts of their own
	ui, err := dueqhttp.UI(client, &dueqhttp.Options{Stopping: ctx, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /calls", watch)
	mux.Handle("/", ui)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "http://%s\n", listener.Addr()); err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
