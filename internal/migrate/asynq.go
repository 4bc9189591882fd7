package migrate

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// asynq reads the keys of github.com/hibiken/asynq from v0.18 on: asynq:{QUEUE}:STATE has ids, and
// asynq:{QUEUE}:t:ID is a hash with the task in its field msg, as Protocol Buffers.
type asynq struct {
	rdb    redis.UniversalClient
	prefix string
}

func newAsynq(rdb redis.UniversalClient, name string) *asynq {
	return &asynq{rdb: rdb, prefix: "asynq:{" + name + "}:"}
}

func (a *asynq) sets() []set {
	return []set{
		{state: "scheduled", key: a.prefix + "scheduled", shape: sorted, due: seconds},
		{state: "retry", key: a.prefix + "retry", shape: sorted, due: seconds},
		{state: "pending", key: a.prefix + "pending", shape: list},
		{state: "active", key: a.prefix + "active", shape: list, active: true, skip: held},
		{state: "aggregating", key: a.prefix + "groups", shape: groups, family: a.prefix + "g:", skip: "in a group: dueq has ConsumeBatch instead"},
		{state: "archived", key: a.prefix + "archived", shape: sorted, skip: "failed for good"},
		{state: "completed", key: a.prefix + "completed", shape: sorted, skip: "done"},
	}
}

// held is the reason for messages that consumers have.
const held = "held by a consumer (--active copies it)"

func (a *asynq) keys() []string {
	return append(keysOf(a.sets()), a.prefix+"processed", a.prefix+"failed", a.prefix+"paused")
}

func (a *asynq) read(ctx context.Context, _ set, items []item) ([]entry, error) {
	replies := make([]*redis.StringCmd, len(items))
	err := pipelined(ctx, a.rdb, func(p redis.Pipeliner) {
		for i, item := range items {
			replies[i] = p.HGet(ctx, a.prefix+"t:"+item.id, "msg")
		}
	})
	if err != nil {
		return nil, err
	}
	entries := make([]entry, len(items))
	for i, reply := range replies {
		text, err := reply.Bytes()
		switch {
		case errors.Is(err, redis.Nil):
			entries[i].skip = gone
		case err != nil:
			return nil, err
		default:
			entries[i] = asynqEntry(text)
		}
	}
	return entries, nil
}

// pipelined makes calls in one round trip. Keys that are missing are no error.
func pipelined(ctx context.Context, rdb redis.UniversalClient, calls func(redis.Pipeliner)) error {
	_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error { calls(p); return nil })
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// asynqTimeout is the timeout in seconds of a task for which neither a timeout nor a deadline was
// given.
const asynqTimeout = 1800

// asynqEntry returns the message of a task.
func asynqEntry(text []byte) entry {
	t, err := decodeTask(text)
	if err != nil {
		return entry{skip: "its encoding is unknown"}
	}
	e := entry{kind: t.kind, headers: t.headers, body: t.payload, attempts: int(t.retry-t.retried) + 1} // 32 bits each
	for _, l := range []struct {
		has  bool
		what string
	}{
		{t.timeout != 0 && t.timeout != asynqTimeout, "timeout"},
		{t.deadline != 0, "deadline"},
		{t.retention != 0, "retention"},
		{t.unique, "unique lock"},
		{t.group, "group"},
	} {
		if l.has {
			e.lost = append(e.lost, l.what)
		}
	}
	return e
}
