package system

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/bench/peer"
)

// PollLua is the usual repair of polling for several consumers: one script reads and
// deletes, so that no two consumers get the same message.
func PollLua() peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "poll-lua", Title: "sorted set, atomic Lua claim",
			Idea:     "One script reads up to 100 due members of a sorted set and deletes them.",
			Promise:  "at most once",
			Mind:     "No lease: what a consumer has taken when it dies is lost, here up to a batch and more.",
			Settings: "100 messages a claim, 100 ms of sleep when nothing is due",
			Server:   peer.Redis, Batch: true, Recovery: 5 * time.Second,
			Code: []string{"system/polllua.go"},
		},
		Open: func(_ context.Context, env peer.Env) (peer.Queue, error) {
			return &pollLua{poll{rdb: connect(env), idle: 100 * time.Millisecond}}, nil
		},
	}
}

// takeDue: KEYS[1] sorted set; ARGV[1] now in ms, ARGV[2] how many.
var takeDue = redis.NewScript(`
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
if #due > 0 then
  redis.call('ZREM', KEYS[1], unpack(due))
end
return due
`)

const pollLuaBatch = 100

// pollLua sends as poll does and consumes by script.
type pollLua struct{ poll }

func (q *pollLua) Consume(ctx context.Context, c peer.Consumer, h peer.Handler) error {
	w := newWorkers(c.Concurrency)
	defer w.wait()
	c.Listening()
	for ctx.Err() == nil {
		due, err := takeDue.Run(ctx, q.rdb, []string{pollKey}, time.Now().UnixMilli(), pollLuaBatch).StringSlice()
		if err != nil {
			return quiet(ctx, err)
		}
		for _, body := range due {
			w.do(func() { _ = h(ctx, []byte(body)) })
		}
		if len(due) == 0 {
			pause(ctx, q.idle)
		}
	}
	return nil
}
