package micro

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// BenchmarkSendAlone alternates between Send from one goroutine and a bare loop of EVALSHA with the
// script and the arguments of that Send. It reports the ratio of the rates: 1 means that the library
// costs nothing.
func BenchmarkSendAlone(b *testing.B) {
	const calls = 500
	ctx := context.Background()
	server := redistest.Start(b)
	seen := &lastScript{}
	watched := server.Client(b)
	watched.AddHook(seen)
	client, err := dueq.NewRedis(watched, &dueq.Options{Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	q, m := client.Queue("work"), dueq.Message{Body: make([]byte, bodySize), Delay: time.Hour}
	send := func() error {
		_, err := q.Send(ctx, m)
		return err
	}
	for range 100 {
		if err := send(); err != nil {
			b.Fatal(err)
		}
	}
	rdb, bare := server.Client(b), newReplay(b, *seen.args.Load())
	seen.over.Store(true)
	again := func() error { return rdb.Do(ctx, bare.next()...).Err() }
	took, n := [2]time.Duration{}, 0
	for round := 0; b.Loop(); round++ {
		for i, call := range measure.Rotate(round, []func() error{send, again}) {
			began := time.Now()
			for range calls {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
			took[i] += time.Since(began)
		}
		n += calls
	}
	b.ReportMetric(float64(n)/took[0].Seconds(), "msg/s")
	b.ReportMetric(float64(n)/took[1].Seconds(), "bare-msg/s")
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
}

// lastScript is a hook that keeps the arguments of the last EVALSHA.
type lastScript struct {
	args atomic.Pointer[[]any]
	over atomic.Bool
}

func (l *lastScript) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lastScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *lastScript) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); !l.over.Load() && cmd.Name() == "evalsha" {
			l.args.Store(&args)
		}
		return next(ctx, cmd)
	}
}

// replay is a push of one message that can be made again, each time with a number and an
// id of its own: docs/REDIS.md has the arguments of push.
type replay struct {
	args []any
	n    int
}

func newReplay(b *testing.B, args []any) *replay {
	b.Helper()
	const before, keys, producer, messages = 3, 6, 2, 5 // "evalsha", the hash, how many keys
	if len(args) != before+keys+12 || fmt.Sprint(args[2]) != "6" || fmt.Sprint(args[before+keys+messages]) != "1" {
		b.Fatalf("the last script was not a push of one message: %v", args)
	}
	args = slices.Clone(args)
	args[before+keys+producer] = "bare"
	return &replay{args: args}
}

func (r *replay) next() []any {
	const number, id = 12, 18
	r.n++
	args := slices.Clone(r.args)
	args[number], args[id] = fmt.Sprintf("%020d", r.n), fmt.Sprintf("%026d", r.n)
	return args
}
