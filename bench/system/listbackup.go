package system

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/bench/peer"
)

// ListBackup is a list of ids with a backup sorted set and a hash of contents. The
// backup has the ids that enter the list later: those of delayed messages, and of popped ones whose
// lease may run out.
func ListBackup() peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "list-backup", Title: "list + backup sorted set + hash",
			Idea:     "A pop moves what is due or has timed out from a backup sorted set to a list, takes one id and puts it back into the backup with a lease; an ack deletes.",
			Promise:  "at least once, fixed lease",
			Mind:     "No receipt: a slow consumer's late ack deletes the message while another one works on it. No extension of leases, no count of attempts: a message that kills its consumer is delivered again without end.",
			Settings: "lease 5 s, one message a pop, 100 ms of sleep when nothing is due",
			Server:   peer.Redis, Batch: true, Recovery: 15 * time.Second,
			Code: []string{"system/listbackup.go"},
		},
		Open: func(_ context.Context, env peer.Env) (peer.Queue, error) {
			return &listBackup{rdb: connect(env)}, nil
		},
	}
}

const (
	lbList, lbBackup, lbContent = "lb:ready", "lb:backup", "lb:content"

	lbLease = 5 * time.Second
	lbIdle  = 100 * time.Millisecond
)

// lbPop: KEYS list, backup, contents; ARGV now in ms, end of the lease in ms.
var lbPop = redis.NewScript(`
local back = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, 100)
if #back > 0 then
  redis.call('RPUSH', KEYS[1], unpack(back))
  redis.call('ZREM', KEYS[2], unpack(back))
end
local id = redis.call('LPOP', KEYS[1])
if not id then return false end
local body = redis.call('HGET', KEYS[3], id)
if not body then return {id, ''} end -- acked after its lease had run out
redis.call('ZADD', KEYS[2], ARGV[2], id)
return {id, body}
`)

type listBackup struct{ rdb *redis.Client }

func (q *listBackup) Send(ctx context.Context, m peer.Message) error {
	return q.SendBatch(ctx, []peer.Message{m})
}

func (q *listBackup) SendBatch(ctx context.Context, batch []peer.Message) error {
	content := make([]any, 0, 2*len(batch))
	due := make([]redis.Z, len(batch))
	for i, m := range batch {
		id := strconv.Itoa(m.Seq)
		content = append(content, id, m.Body)
		due[i] = redis.Z{Score: dueMs(m), Member: id}
	}
	_, err := q.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, lbContent, content...)
		p.ZAdd(ctx, lbBackup, due...)
		return nil
	})
	return err
}

func (q *listBackup) Consume(ctx context.Context, c peer.Consumer, h peer.Handler) error {
	w := newWorkers(c.Concurrency)
	defer w.wait()
	c.Listening()
	for ctx.Err() == nil {
		id, body, err := q.pop(ctx)
		if err != nil {
			return quiet(ctx, err)
		}
		switch {
		case id == "":
			pause(ctx, lbIdle)
		case body != "":
			w.do(func() {
				if h(ctx, []byte(body)) == nil {
					_ = q.ack(context.WithoutCancel(ctx), id)
				}
			})
		}
	}
	return nil
}

// pop returns no id if nothing is ready.
func (q *listBackup) pop(ctx context.Context) (id, body string, err error) {
	now := time.Now()
	popped, err := lbPop.Run(ctx, q.rdb, []string{lbList, lbBackup, lbContent},
		now.UnixMilli(), now.Add(lbLease).UnixMilli()).StringSlice()
	if errors.Is(err, redis.Nil) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	return popped[0], popped[1], nil
}

func (q *listBackup) ack(ctx context.Context, id string) error {
	_, err := q.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HDel(ctx, lbContent, id)
		p.ZRem(ctx, lbBackup, id)
		return nil
	})
	return err
}

func (q *listBackup) Size(ctx context.Context) (int, error) {
	n, err := q.rdb.HLen(ctx, lbContent).Result()
	return int(n), err
}

func (q *listBackup) Close() error { return q.rdb.Close() }
