package dueq_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// remembered returns how many bytes the partitions of a queue keep of callers' last calls.
func remembered(t *testing.T, rdb *redis.Client, prefix, queue string) int {
	t.Helper()
	keys, err := rdb.Keys(t.Context(), prefix+":{"+queue+":*}:calls").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	bytes := 0
	for _, key := range keys {
		fields, err := rdb.HGetAll(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range fields {
			if strings.HasPrefix(name, "c:") {
				bytes += len(name) + len(value)
			}
		}
	}
	return bytes
}

// A partition keeps the last answer to each consumer for an hour: 14 KB after a claim of 500. When
// a consumer stops normally, almost nothing of that is left.
func TestRedisClose_DropsTheAnswersToItsClaims(t *testing.T) {
	t.Parallel()
	const messages, most = 500, 200
	receive := func(ctx context.Context, q *dueq.Queue) error {
		due, err := q.Receive(ctx, dueq.ReceiveOptions{Max: messages})
		if err == nil {
			err = dueq.AckAll(ctx, due)
		}
		return err
	}
	consume := func(ctx context.Context, q *dueq.Queue) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		return q.Consume(ctx, afterAll(messages, stop, func(context.Context, *dueq.Delivery) error { return nil }),
			dueq.ConsumeOptions{Concurrency: messages})
	}
	for name, use := range map[string]func(context.Context, *dueq.Queue) error{"receive": receive, "consume": consume} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, options := redistest.Shared(t).Client(t), &dueq.Options{Prefix: redistest.Prefix(), Logger: slog.New(slog.DiscardHandler)}
			client := opened(t)(dueq.NewRedis(rdb, options))
			q := client.Queue("work")
			if _, err := q.SendBatch(t.Context(), make([]dueq.Message, messages)); err != nil {
				t.Fatal(err)
			}
			if err := use(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			if err := client.Close(); err != nil {
				t.Fatal(err)
			}
			n := remembered(t, rdb, options.Prefix, "work")
			t.Logf("%d bytes are left", n)
			if n > most {
				t.Errorf("%d bytes are left of one client, want at most %d", n, most)
			}
		})
	}
}

func TestClose_StoreThatHangsDelaysItByASecond(t *testing.T) {
	inBubble(t, func(r *rig) {
		for range 3 {
			r.send(dueq.Message{})
		}
		due, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 3})
		r.must(err)
		r.must(dueq.AckAll(r.Context(), due))
		r.net.set(everything(hangs))
		began := time.Now()
		r.must(r.client.Close())
		if took := time.Since(began); took > time.Second || r.net.count("leave") != 1 {
			r.Errorf("took %s, %d calls: want one call of a second at most", took, r.net.count("leave"))
		}
	})
}

// A client that has handled few messages makes no call to remove its answers.
func TestClose_MakesNoCallForAFewMessages(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		due, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		r.must(dueq.AckAll(r.Context(), due))
		r.must(r.client.Close())
		if n := r.net.count("leave"); n > 0 {
			r.Errorf("%d calls", n)
		}
	})
}
