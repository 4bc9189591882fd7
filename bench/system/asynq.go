package system

import (
	"context"
	"errors"
	"time"

	"github.com/hibiken/asynq"

	"github.com/dueq-dev/dueq/bench/peer"
)

// Asynq is hibiken/asynq with default settings, except the concurrency.
func Asynq() peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "asynq", Title: "asynq 0.26, default settings",
			Idea:     "Scheduled tasks in a sorted set; every 5 s a forwarder moves due ones to a list, from which workers take one at a time under a lease of 30 s that is extended.",
			Promise:  "at least once, lease",
			Mind:     "A task waits for the next forwarding. A dead worker's tasks come back after the lease, the recoverer's minute and the back-off of a retry.",
			Settings: "default but concurrency 100",
			Server:   peer.Redis, Recovery: 240 * time.Second,
			Library: "github.com/hibiken/asynq",
		},
		Open: openAsynq(asynq.Config{}),
	}
}

// AsynqTuned polls a hundred times a second.
func AsynqTuned() peer.Entry {
	e := Asynq()
	e.Name, e.Title = "asynq-tuned", "asynq 0.26, tuned"
	e.Idea = "As asynq, but both the forwarder and the workers look every 10 ms."
	e.Settings = "DelayedTaskCheckInterval 10 ms, TaskCheckInterval 10 ms, concurrency 100"
	e.Mind = "Due times are stored in whole seconds, rounded down: with a fast forwarder tasks run up to a second early. A dead worker's tasks come back after the lease, the recoverer's minute and the back-off of a retry."
	e.Open = openAsynq(asynq.Config{
		DelayedTaskCheckInterval: 10 * time.Millisecond, TaskCheckInterval: 10 * time.Millisecond,
	})
	return e
}

const asynqQueue = "default"

type asynqQueueOf struct {
	redis  asynq.RedisClientOpt
	config asynq.Config
	client *asynq.Client
}

func openAsynq(config asynq.Config) func(context.Context, peer.Env) (peer.Queue, error) {
	return func(_ context.Context, env peer.Env) (peer.Queue, error) {
		opt := asynq.RedisClientOpt{Network: "unix", Addr: env.RedisSocket}
		config.LogLevel = asynq.FatalLevel // the harness notices errors as missing messages
		return &asynqQueueOf{redis: opt, config: config, client: asynq.NewClient(opt)}, nil
	}
}

func (q *asynqQueueOf) Send(ctx context.Context, m peer.Message) error {
	_, err := q.client.EnqueueContext(ctx, asynq.NewTask("bench", m.Body), asynq.ProcessAt(m.Due))
	return err
}

func (q *asynqQueueOf) Consume(ctx context.Context, c peer.Consumer, h peer.Handler) error {
	config := q.config
	config.Concurrency = c.Concurrency
	server := asynq.NewServer(q.redis, config)
	err := server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		return h(ctx, t.Payload())
	}))
	if err != nil {
		return err
	}
	c.Listening()
	<-ctx.Done()
	server.Shutdown()
	return nil
}

func (q *asynqQueueOf) Size(context.Context) (int, error) {
	inspector := asynq.NewInspector(q.redis)
	defer func() { _ = inspector.Close() }()
	info, err := inspector.GetQueueInfo(asynqQueue)
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size, nil
}

func (q *asynqQueueOf) Close() error { return q.client.Close() }
