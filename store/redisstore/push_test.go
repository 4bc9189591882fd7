package redisstore

import (
	"context"
	"io"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// forgetful loses the replies to pushes, and calls lost for each.
type forgetful struct {
	redis.Hook
	replies int
	lost    func()
}

func (f *forgetful) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *forgetful) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f *forgetful) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err != nil || f.replies == 0 || cmd.Name() != "evalsha" || cmd.Args()[1] != library()["push"].sha {
			return err
		}
		f.replies--
		f.lost()
		return io.ErrUnexpectedEOF
	}
}

// A message that is new in the first try of a push is not new in the next. In this test the server
// has forgotten the call, so only the id shows the repetition.
func TestPush_RepeatedStoresNothingNew(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	r := newRig(t, rdb)
	r.push(r.messages(1, 10)...) // loads the script
	r.settle(store.Ack, r.claim(1)...)
	var ds []store.Delivery
	rdb.AddHook(&forgetful{replies: 1, lost: func() {
		ds = r.claim(10)
		r.must(r.rdb.HDel(r.ctx(), r.key("calls"), "p:p").Err())
	}})
	r.push(r.messages(3, 10)...)
	r.want("deliveries in between", len(ds), 3)
	r.want("deliveries again", len(r.claim(10)), 0)
	r.settle(store.Ack, ds...)
	r.wantClean()
}

// Due times and delays are separate arguments, and one that all messages share is sent once.
func TestPush_DueTimesAndDelaysAreDistinguished(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	now := r.rdb.Time(r.ctx()).Val().UnixMilli()
	far, past := now+3_600_000, now-3_600_000
	for _, dues := range [][]int64{{far}, {far, far}, {far, past, far + 1}, {0, far, 0}} {
		for _, fresh := range []bool{true, false} {
			ms := r.messages(len(dues), 10)
			for i, due := range dues {
				ms[i].Due, ms[i].New = due, fresh
				if due == 0 {
					ms[i].Delay = 7_200_000
				}
			}
			r.push(ms...)
			for i, due := range dues {
				got, err := r.Get(r.ctx(), r.p, store.Ref{ID: ms[i].ID})
				r.must(err)
				switch {
				case due == 0 && (got.At < now+7_200_000 || got.At > now+7_260_000),
					due == past && (got.At < now || got.At > now+60_000),
					due > now && got.At != due:
					t.Errorf("%v, new %t: message %d is due %d ms from now", dues, fresh, i, got.At-now)
				}
			}
		}
	}
}
