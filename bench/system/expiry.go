package system

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/bench/peer"
)

// Expiry has a key for each message, which expires when the message is due, and a subscriber to the
// notifications of expired keys.
func Expiry() peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "key-expiry", Title: "key-expiry notifications",
			Idea:     "A marker key expires when the message is due; listeners are notified by publish/subscribe, and the first to GETDEL the body has the message.",
			Promise:  "at most once, while a listener is connected",
			Mind:     "Notifications are not kept: a key that expires without a listener is never delivered. Redis notifies when it deletes the key, which may be long after it expired. No lease.",
			Settings: "notify-keyspace-events Ex",
			Server:   peer.Redis, Batch: true, Listener: true, Recovery: 5 * time.Second,
			Code: []string{"system/expiry.go"},
		},
		Open: openExpiry,
	}
}

const (
	expMarker  = "exp:due:"
	expBody    = "exp:body:"
	expChannel = "__keyevent@0__:expired"
)

type expiry struct{ rdb *redis.Client }

func openExpiry(ctx context.Context, env peer.Env) (peer.Queue, error) {
	rdb := connect(env)
	if err := rdb.ConfigSet(ctx, "notify-keyspace-events", "Ex").Err(); err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &expiry{rdb: rdb}, nil
}

func (q *expiry) Send(ctx context.Context, m peer.Message) error {
	return q.SendBatch(ctx, []peer.Message{m})
}

func (q *expiry) SendBatch(ctx context.Context, batch []peer.Message) error {
	_, err := q.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, m := range batch {
			id := strconv.Itoa(m.Seq)
			p.Set(ctx, expBody+id, m.Body, 0)
			p.Set(ctx, expMarker+id, "", max(m.Delay(), time.Millisecond))
		}
		return nil
	})
	return err
}

func (q *expiry) Consume(ctx context.Context, c peer.Consumer, h peer.Handler) error {
	sub := q.rdb.Subscribe(ctx, expChannel)
	defer func() { _ = sub.Close() }()
	if _, err := sub.Receive(ctx); err != nil { // the confirmation
		return quiet(ctx, err)
	}
	w := newWorkers(c.Concurrency)
	defer w.wait()
	c.Listening()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-sub.Channel(redis.WithChannelSize(10000)):
			if !ok {
				return errors.New("the subscription has ended")
			}
			if id, mine := strings.CutPrefix(event.Payload, expMarker); mine {
				w.do(func() { q.take(ctx, id, h) })
			}
		}
	}
}

// take is the claim: GETDEL gives the body to one listener only.
func (q *expiry) take(ctx context.Context, id string, h peer.Handler) {
	body, err := q.rdb.GetDel(context.WithoutCancel(ctx), expBody+id).Bytes()
	if err == nil {
		_ = h(ctx, body)
	}
}

// Size counts every key, because there is no index of pending messages.
func (q *expiry) Size(ctx context.Context) (int, error) {
	n, err := q.rdb.DBSize(ctx).Result()
	return int(n), err
}

func (q *expiry) Close() error { return q.rdb.Close() }
