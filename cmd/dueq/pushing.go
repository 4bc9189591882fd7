package main

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/targets"
	"github.com/dueq-dev/dueq/dueqhttp/push"
)

// pushing posts the messages of queues to their targets.
type pushing struct {
	client  *dueq.Client
	log     *slog.Logger
	running map[string]*pusher // by queue
}

// pusher posts the messages of one queue.
type pusher struct {
	target targets.Target
	stop   context.CancelFunc
	ended  chan struct{}
}

// Spans of pushing.
const (
	minPushLease   = 30 * time.Second
	pushAgainAfter = time.Minute // after an error of the consumer
)

// apply starts to post the messages of the queues in all, until ctx ends, and stops it for other
// queues. What has not changed goes on.
func (p *pushing) apply(ctx context.Context, all []targets.Target) {
	wanted := map[string]bool{}
	for _, t := range all {
		wanted[t.Queue] = true
		old := p.running[t.Queue]
		if old == nil || !reflect.DeepEqual(old.target, t) {
			p.running[t.Queue] = p.start(ctx, t, old)
		}
	}
	for queue, running := range p.running {
		if !wanted[queue] {
			running.stop()
			running.target = targets.Target{} // it is not the same if it comes back
		}
	}
}

// start posts the messages of a queue, once the pusher that it replaces has ended.
func (p *pushing) start(ctx context.Context, t targets.Target, before *pusher) *pusher {
	ctx, stop := context.WithCancel(ctx)
	started := &pusher{target: t, stop: stop, ended: make(chan struct{})}
	if before != nil {
		before.stop()
	}
	go func() {
		defer close(started.ended)
		if before != nil {
			<-before.ended
		}
		p.push(ctx, t)
	}()
	return started
}

// push posts the messages of a queue until ctx ends.
func (p *pushing) push(ctx context.Context, t targets.Target) {
	for ctx.Err() == nil {
		err := p.consume(ctx, t)
		if err == nil {
			return
		}
		log := p.log.With(slog.String("queue", t.Queue), slog.Any("error", err))
		if ctx.Err() != nil || errors.Is(err, dueq.ErrClosed) || errors.Is(err, dueq.ErrFailed) {
			log.ErrorContext(ctx, "messages are not posted to the target any more")
			return
		}
		log.WarnContext(ctx, "could not consume the queue of a target; trying again in a minute")
		select {
		case <-ctx.Done():
		case <-time.After(pushAgainAfter):
		}
	}
}

// consume runs a consumer. Its lease is longer than a request, which therefore has ended when the
// message is delivered again.
func (p *pushing) consume(ctx context.Context, t targets.Target) error {
	handler, err := push.Handler(t.Target)
	if err != nil {
		return err // cannot happen: the file was checked
	}
	return p.client.Queue(t.Queue).Consume(ctx, handler, dueq.ConsumeOptions{
		Concurrency: t.Concurrency, Lease: max(minPushLease, 2*t.Timeout), Grace: stopTimeout,
	})
}

// wait waits until everything has ended.
func (p *pushing) wait() {
	for _, running := range p.running {
		<-running.ended
	}
}
