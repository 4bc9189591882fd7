package system

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/bench/peer"
)

// Dueq is the library of this repository with default settings, except the concurrency.
func Dueq() peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "dueq", Title: "dueq",
			Idea:     "A sorted set by due time and one by lease, and a hash of records; one script call sends, claims or acks a batch, and a consumer sleeps until the next message is due.",
			Promise:  "at least once, lease that is extended, receipts",
			Mind:     "The embedded engine, which needs no server, is counted in the lines of code and not measured here.",
			Settings: "default but concurrency 100",
			Server:   peer.Redis, Batch: true, Recovery: 60 * time.Second,
			Library: "github.com/dueq-dev/dueq",
		},
		Open: openDueq,
	}
}

const dueqQueue = "bench"

type dueqQueueOf struct {
	rdb    *redis.Client
	client *dueq.Client
	queue  *dueq.Queue
}

func openDueq(_ context.Context, env peer.Env) (peer.Queue, error) {
	rdb := connect(env)
	client, err := dueq.NewRedis(rdb, nil) //nolint:contextcheck // the client lives longer than this call
	if err != nil {
		return nil, err
	}
	return &dueqQueueOf{rdb: rdb, client: client, queue: client.Queue(dueqQueue)}, nil
}

func (q *dueqQueueOf) Send(ctx context.Context, m peer.Message) error {
	_, err := q.queue.Send(ctx, dueq.Message{Body: m.Body, Due: m.Due})
	return err
}

func (q *dueqQueueOf) SendBatch(ctx context.Context, batch []peer.Message) error {
	messages := make([]dueq.Message, len(batch))
	for i, m := range batch {
		messages[i] = dueq.Message{Body: m.Body, Due: m.Due}
	}
	results, err := q.queue.SendBatch(ctx, messages)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return err
}

func (q *dueqQueueOf) Consume(ctx context.Context, c peer.Consumer, h peer.Handler) error {
	handler := func(ctx context.Context, d *dueq.Delivery) error { return h(ctx, d.Body) }
	c.Listening() // Consume does not report its start; calling it early changes no figure
	return q.queue.Consume(ctx, handler, dueq.ConsumeOptions{Concurrency: c.Concurrency})
}

// Size leaves out dead messages, which no consumer gets.
func (q *dueqQueueOf) Size(ctx context.Context) (int, error) {
	s, err := q.queue.Stats(ctx)
	if errors.Is(err, dueq.ErrNotFound) {
		return 0, nil
	}
	return int(s.Scheduled + s.Ready + s.Leased), err
}

func (q *dueqQueueOf) Close() error {
	return errors.Join(q.client.Close(), q.rdb.Close())
}
