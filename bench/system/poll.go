package system

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/bench/peer"
)

// PollBusy is the design of most tutorials: a sorted set scored by due time. Read the
// first member that is due, remove it, work on it, start over.
func PollBusy() peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "poll-busy", Title: "sorted set, busy polling",
			Idea:     "Read the first due member of a sorted set, remove it, hand it out; poll again at once.",
			Promise:  "at most once",
			Mind:     "No lease: what a consumer has in hand when it dies is lost. Reading and removing are two steps: two consumers hand out the same message. An idle consumer keeps Redis and a core busy.",
			Settings: "one message a poll, no sleep",
			Server:   peer.Redis, Batch: true, Recovery: 5 * time.Second,
			Code: []string{"system/poll.go"},
		},
		Open: openPoll(0),
	}
}

// PollSleep is PollBusy with a sleep after a poll that found nothing.
func PollSleep() peer.Entry {
	e := PollBusy()
	e.Name, e.Title = "poll-sleep", "sorted set, polling with a sleep"
	e.Idea = "As busy polling, but sleep half a second when nothing is due."
	e.Mind = "No lease: what a consumer has in hand when it dies is lost. Reading and removing are two steps: two consumers hand out the same message. What becomes due during a sleep waits for its end."
	e.Settings = "one message a poll, 500 ms of sleep when nothing is due"
	e.Open = openPoll(500 * time.Millisecond)
	return e
}

const pollKey = "poll:due"

type poll struct {
	rdb  *redis.Client
	idle time.Duration
}

func openPoll(idle time.Duration) func(context.Context, peer.Env) (peer.Queue, error) {
	return func(_ context.Context, env peer.Env) (peer.Queue, error) {
		return &poll{rdb: connect(env), idle: idle}, nil
	}
}

func (q *poll) Send(ctx context.Context, m peer.Message) error {
	return q.SendBatch(ctx, []peer.Message{m})
}

func (q *poll) SendBatch(ctx context.Context, batch []peer.Message) error {
	members := make([]redis.Z, len(batch))
	for i, m := range batch {
		members[i] = redis.Z{Score: dueMs(m), Member: m.Body}
	}
	return q.rdb.ZAdd(ctx, pollKey, members...).Err()
}

func (q *poll) Consume(ctx context.Context, c peer.Consumer, h peer.Handler) error {
	w := newWorkers(c.Concurrency)
	defer w.wait()
	c.Listening()
	for ctx.Err() == nil {
		body, err := q.take(ctx)
		if err != nil {
			return quiet(ctx, err)
		}
		if body == nil {
			pause(ctx, q.idle)
			continue
		}
		w.do(func() { _ = h(ctx, body) })
	}
	return nil
}

// take reads the first due message and removes it, or returns nil.
func (q *poll) take(ctx context.Context) ([]byte, error) {
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	due, err := q.rdb.ZRangeArgs(ctx, redis.ZRangeArgs{Key: pollKey, Start: "-inf", Stop: now, ByScore: true, Count: 1}).Result()
	if err != nil || len(due) == 0 {
		return nil, err
	}
	return []byte(due[0]), q.rdb.ZRem(ctx, pollKey, due[0]).Err()
}

func (q *poll) Size(ctx context.Context) (int, error) {
	n, err := q.rdb.ZCard(ctx, pollKey).Result()
	return int(n), err
}

func (q *poll) Close() error { return q.rdb.Close() }
