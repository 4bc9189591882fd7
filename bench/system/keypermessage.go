package system

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/bench/peer"
)

// KeyPerMessage keeps each body under a key of its own and moves ids between five
// structures: pending, ready, unack, retry, garbage.
func KeyPerMessage() peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "key-per-message", Title: "key per message, five structures",
			Idea:     "A key per message, and pending, ready, unack, retry and garbage: every second the consumer moves due ids from pending to ready, takes ids one script call each into unack, and what is not acked in time goes to retry or garbage.",
			Promise:  "at least once, fixed lease, 3 retries",
			Mind:     "What becomes due waits for the next tick. All due messages are moved at once: the script blocks Redis for as long as that takes. Leases are not extended.",
			Settings: "tick 1 s, lease 5 s, 3 retries",
			Server:   peer.Redis, Recovery: 15 * time.Second,
			Code: []string{"system/keypermessage.go", "system/keypermessagelua.go"},
		},
		Open: func(_ context.Context, env peer.Env) (peer.Queue, error) {
			return &keyPerMessage{rdb: connect(env)}, nil
		},
	}
}

const (
	kpmPending, kpmReady, kpmUnack = "kpm:pending", "kpm:ready", "kpm:unack"
	kpmRetry, kpmGarbage, kpmCount = "kpm:retry", "kpm:garbage", "kpm:retries"

	kpmTick    = time.Second
	kpmLease   = 5 * time.Second
	kpmRetries = 3
)

type keyPerMessage struct{ rdb *redis.Client }

func kpmKey(id string) string { return "kpm:msg:" + id }

func (q *keyPerMessage) Send(ctx context.Context, m peer.Message) error {
	id := strconv.Itoa(m.Seq)
	_, err := q.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, kpmKey(id), m.Body, 0)
		p.HSet(ctx, kpmCount, id, kpmRetries)
		p.ZAdd(ctx, kpmPending, redis.Z{Score: dueMs(m), Member: id})
		return nil
	})
	return err
}

func (q *keyPerMessage) Consume(ctx context.Context, c peer.Consumer, h peer.Handler) error {
	w := newWorkers(c.Concurrency)
	defer w.wait()
	tick := time.NewTicker(kpmTick)
	defer tick.Stop()
	c.Listening()
	for {
		if err := q.round(ctx, w, h); err != nil {
			return quiet(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// round is the work of every tick.
func (q *keyPerMessage) round(ctx context.Context, w *workers, h peer.Handler) error {
	now := time.Now().UnixMilli()
	if err := kpmDue.Run(ctx, q.rdb, []string{kpmPending, kpmReady}, now).Err(); err != nil {
		return err
	}
	if err := q.work(ctx, kpmReady, w, h); err != nil {
		return err
	}
	if err := kpmTimedOut.Run(ctx, q.rdb, []string{kpmUnack, kpmRetry, kpmGarbage, kpmCount}, now).Err(); err != nil {
		return err
	}
	if err := q.collect(ctx); err != nil {
		return err
	}
	return q.work(ctx, kpmRetry, w, h)
}

// work takes ids from a list, one call each, until it is empty.
func (q *keyPerMessage) work(ctx context.Context, list string, w *workers, h peer.Handler) error {
	for ctx.Err() == nil {
		id, err := kpmTake.Run(ctx, q.rdb, []string{list, kpmUnack}, time.Now().Add(kpmLease).UnixMilli()).Text()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		if err != nil {
			return err
		}
		w.do(func() { _ = q.handle(ctx, id, h) })
	}
	return ctx.Err()
}

func (q *keyPerMessage) handle(ctx context.Context, id string, h peer.Handler) error {
	body, err := q.rdb.Get(ctx, kpmKey(id)).Bytes()
	if err != nil {
		return err
	}
	if err := h(ctx, body); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	_, err = q.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ZRem(ctx, kpmUnack, id)
		p.Del(ctx, kpmKey(id))
		p.HDel(ctx, kpmCount, id)
		return nil
	})
	return err
}

// collect deletes messages without retries left.
func (q *keyPerMessage) collect(ctx context.Context) error {
	ids, err := q.rdb.SMembers(ctx, kpmGarbage).Result()
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = q.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, id := range ids {
			p.Del(ctx, kpmKey(id))
			p.HDel(ctx, kpmCount, id)
			p.SRem(ctx, kpmGarbage, id)
		}
		return nil
	})
	return err
}

func (q *keyPerMessage) Size(ctx context.Context) (int, error) {
	n, err := q.rdb.HLen(ctx, kpmCount).Result()
	return int(n), err
}

func (q *keyPerMessage) Close() error { return q.rdb.Close() }
