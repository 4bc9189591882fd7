package dueq

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/store"
)

func newWorkerRun(w *Worker) *workerRun {
	return &workerRun{
		Worker: w, slots: consumer.NewSlots(w.options.Concurrency), queues: map[string]*workerQueue{},
		listed: make(chan []string), ended: make(chan workerEnd),
	}
}

// run consumes queues until ctx ends, or until there is an error that concerns all.
func (r *workerRun) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listing := make(chan struct{})
	go func() {
		defer close(listing)
		r.list(ctx)
	}()
	for _, route := range r.routes {
		if route.glob == nil {
			r.consume(ctx, route, route.pattern, r.client.Queue(route.pattern).learn)
		}
	}
	var failed error
	for ctx.Err() == nil {
		select {
		case names := <-r.listed:
			r.look(ctx, names)
		case e := <-r.ended:
			if failed = r.over(ctx, e); failed != nil {
				stop()
			}
		case <-ctx.Done():
		}
	}
	<-listing
	return errors.Join(failed, r.wait())
}

// wait waits for all consumers, and returns what is left of them.
func (r *workerRun) wait() error {
	var left error
	for _, q := range r.queues {
		if !q.consumed {
			continue
		}
		left = errors.Join(left, (<-r.ended).failure())
	}
	return left
}

// failure is nil for a queue that was deleted.
func (e workerEnd) failure() error {
	if errors.Is(e.err, ErrNotFound) {
		return nil
	}
	return fail("consume", e.queue, "", e.err)
}

// list asks for the queues again and again, until ctx ends.
func (r *workerRun) list(ctx context.Context) {
	ticker := time.NewTicker(listQueuesEvery)
	defer ticker.Stop()
	for {
		names, err := consumer.Insist(ctx, r.client.log, r.client.store.Queues)
		if err != nil {
			r.client.log.ErrorContext(ctx, "dueq: could not list the queues; the worker tries again", slog.Any("error", err))
		}
		select {
		case r.listed <- names:
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// look consumes the queues that exist, match and are not consumed.
func (r *workerRun) look(ctx context.Context, names []string) {
	for _, name := range names {
		if route := r.match(name); route != nil {
			r.consume(ctx, route, name, r.client.Queue(name).find)
		}
	}
}

// consume begins to consume a queue, unless it is being consumed.
func (r *workerRun) consume(ctx context.Context, route *workerRoute, name string, learn func(context.Context) (store.Settings, error)) {
	known := r.queues[name]
	if known == nil {
		known = &workerQueue{share: r.slots.Share(route.weight, route.most)}
		r.queues[name] = known
	}
	if known.consumed || time.Now().Before(known.not) {
		return
	}
	known.consumed = true
	options, q := r.options, r.client.Queue(name)
	options.Concurrency = route.most
	go func() {
		r.ended <- workerEnd{name, q.consume(ctx, options, learn, func(config *consumer.Config) {
			q.handler(route.handler)(config)
			config.Share = known.share
		})}
	}()
}

// over notes that a consumer has ended, and returns its error if it concerns all queues.
func (r *workerRun) over(ctx context.Context, e workerEnd) error {
	known, err := r.queues[e.queue], e.failure()
	known.consumed = false
	switch {
	case err == nil:
		delete(r.queues, e.queue)
		return nil
	case ctx.Err() != nil, errors.Is(err, ErrClosed), errors.Is(err, ErrFailed):
		return err
	}
	known.not = time.Now().Add(consumeAgainAfter)
	r.client.log.ErrorContext(ctx, "dueq: a queue cannot be consumed; the worker tries again later",
		slog.String("queue", e.queue), slog.Duration("in", consumeAgainAfter), slog.Any("error", err))
	return nil
}
