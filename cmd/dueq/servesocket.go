package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

// serveSocket serves a store of files also on the socket in its directory, where other commands of
// the same user find it. They need no token: without the server they could open the directory. stop
// ends it.
func (a *app) serveSocket(ctx context.Context, client *dueq.Client, readOnly bool, log *slog.Logger) (stop func(), err error) {
	chosen, err := a.chosenURL()
	if err != nil || !strings.HasPrefix(chosen, "file:") {
		return func() {}, err
	}
	handler, err := dueqhttp.Handler(client, &dueqhttp.Options{ReadOnly: readOnly, Stopping: ctx, Logger: log}) //nolint:contextcheck // each request has its own
	if err != nil {
		return nil, err
	}
	listener, err := dueqhttp.ListenSocket(ctx, client)
	if err != nil {
		log.Warn("could not listen on the socket of the directory; other commands cannot use the store while it is served", slog.Any("error", err))
		return func() {}, nil
	}
	server := newServer(log)
	server.Handler = handler
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return func() {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if err := errors.Join(server.Shutdown(bound), server.Close(), ignoreClosed(<-ended)); err != nil {
			log.Warn("could not stop serving on the socket of the directory in time", slog.Any("error", err))
		}
	}, nil
}
