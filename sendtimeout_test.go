package dueq_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// A Send that waits for the calls of others, and one that has to read the settings first.
func TestSend_TimeoutWithoutDeadline(t *testing.T) {
	inBubble(t, func(r *rig) {
		ctx := context.WithoutCancel(r.Context())
		_, err := r.q.Send(ctx, dueq.Message{})
		r.must(err)
		r.net.set(everything(hangs))
		ahead, end := context.WithCancel(ctx)
		defer end()
		go func() { _, _ = r.q.Send(ahead, dueq.Message{}) }()
		r.sleep(0) // until that call is under way
		for _, queue := range []string{"work", "unknown"} {
			began := time.Now()
			_, err := r.client.Queue(queue).Send(ctx, dueq.Message{})
			if !errors.Is(err, dueq.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
				r.Errorf("%s: %v, want ErrUnavailable", queue, err)
			}
			if took := time.Since(began); took != 10*time.Second {
				r.Errorf("%s: after %s, want 10s", queue, took)
			}
		}
		began := time.Now()
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := r.q.Send(short, dueq.Message{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			r.Errorf("with a deadline: %v after %s", err, time.Since(began))
		}
		r.net.set(nil)
	})
}

func TestSend_TimeoutOfARedisThatHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := opened(t)(dueq.NewRedis(server.Client(t), &dueq.Options{SendTimeout: 300 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(func() { _ = client.Close() })
	q := client.Queue("work")
	if _, err := q.Send(t.Context(), dueq.Message{}); err != nil {
		t.Fatal(err)
	}
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Thaw() })
	for _, q := range []*dueq.Queue{q, client.Queue("other")} {
		_, err := q.Send(t.Context(), dueq.Message{})
		if !errors.Is(err, dueq.ErrUnavailable) || !strings.Contains(err.Error(), "no success for 300ms") {
			t.Errorf("%s: %v, want ErrUnavailable after 300ms", q.Name(), err)
		}
	}
}
