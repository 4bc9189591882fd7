package system

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/bench/peer"
)

// Topics keeps a sorted set and a hash per partition of a topic. Messages have unique
// keys, consumers work in batches, and each owns partitions by configuration.
func Topics() peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "topics", Title: "topics: sorted sets, static partitions",
			Idea:     "Messages with unique keys in a sorted set and a hash per partition; the one owner of a partition reads a batch, works on it, then deletes it.",
			Promise:  "at least once, while each partition has exactly one owner",
			Mind:     "Ownership is configuration: if an owner dies its partitions stand still until it is back, and two owners of one partition hand out everything twice. The slowest message of a batch holds up the next batch.",
			Settings: "4 partitions, 100 messages a batch, 100 ms of sleep when nothing is due",
			Server:   peer.Redis, Batch: true, Recovery: 10 * time.Second,
			Code: []string{"system/topics.go"},
		},
		Open: func(_ context.Context, env peer.Env) (peer.Queue, error) {
			return &topics{rdb: connect(env)}, nil
		},
	}
}

const (
	topicPartitions = 4
	topicBatch      = 100
	topicIdle       = 100 * time.Millisecond
)

// topicAdd stores a message unless its key is taken. KEYS sorted set, hash; ARGV due
// in ms, key, body.
var topicAdd = redis.NewScript(`
if redis.call('HSETNX', KEYS[2], ARGV[2], ARGV[3]) == 0 then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
return 1
`)

type topics struct{ rdb *redis.Client }

func topicKeys(partition int) []string {
	p := strconv.Itoa(partition)
	return []string{"topic:" + p + ":due", "topic:" + p + ":body"}
}

func (q *topics) Send(ctx context.Context, m peer.Message) error {
	return topicAdd.Run(ctx, q.rdb, topicKeys(m.Seq%topicPartitions), m.Due.UnixMilli(), m.Seq, m.Body).Err()
}

func (q *topics) SendBatch(ctx context.Context, batch []peer.Message) error {
	// A pipeline cannot fall back from EVALSHA, so the script is loaded first.
	if err := topicAdd.Load(ctx, q.rdb).Err(); err != nil {
		return err
	}
	_, err := q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, m := range batch {
			topicAdd.EvalSha(ctx, p, topicKeys(m.Seq%topicPartitions), m.Due.UnixMilli(), m.Seq, m.Body)
		}
		return nil
	})
	return err
}

func (q *topics) Consume(ctx context.Context, c peer.Consumer, h peer.Handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWorkers(c.Concurrency)
	var owners sync.WaitGroup
	for p := c.Index; p < topicPartitions; p += c.Of {
		owners.Go(func() {
			if err := q.own(ctx, topicKeys(p), w, h); err != nil {
				cancel(err)
			}
		})
	}
	c.Listening()
	<-ctx.Done()
	owners.Wait()
	if err := context.Cause(ctx); err != context.Canceled { //nolint:errorlint // it was stopped, and nothing else
		return err
	}
	return nil
}

// own consumes one partition until ctx ends.
func (q *topics) own(ctx context.Context, keys []string, w *workers, h peer.Handler) error {
	for ctx.Err() == nil {
		n, err := q.batch(ctx, keys, w, h)
		if err != nil {
			return quiet(ctx, err)
		}
		if n == 0 {
			pause(ctx, topicIdle)
		}
	}
	return nil
}

// batch reads due messages, handles all of them, then deletes them.
func (q *topics) batch(ctx context.Context, keys []string, w *workers, h peer.Handler) (int, error) {
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	ids, err := q.rdb.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: keys[0], Start: "-inf", Stop: now, ByScore: true, Count: topicBatch,
	}).Result()
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	bodies, err := q.rdb.HMGet(ctx, keys[1], ids...).Result()
	if err != nil {
		return 0, err
	}
	var handled sync.WaitGroup
	for _, body := range bodies {
		if text, ok := body.(string); ok {
			handled.Add(1)
			w.do(func() { defer handled.Done(); _ = h(ctx, []byte(text)) })
		}
	}
	handled.Wait()
	return len(ids), q.remove(context.WithoutCancel(ctx), keys, ids)
}

func (q *topics) remove(ctx context.Context, keys, ids []string) error {
	_, err := q.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ZRem(ctx, keys[0], ids)
		p.HDel(ctx, keys[1], ids...)
		return nil
	})
	return err
}

func (q *topics) Size(ctx context.Context) (int, error) {
	total := 0
	for p := range topicPartitions {
		n, err := q.rdb.HLen(ctx, topicKeys(p)[1]).Result()
		if err != nil {
			return 0, err
		}
		total += int(n)
	}
	return total, nil
}

func (q *topics) Close() error { return q.rdb.Close() }
