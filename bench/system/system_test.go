package system_test

import (
	"context"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/bench/host"
	"github.com/dueq-dev/dueq/bench/peer"
	"github.com/dueq-dev/dueq/bench/system"
)

// Every queue in Go that needs Redis or no server delivers each message once and is empty then, so that
// no figure is that of a broken queue. `peers run -quick` tests the others.
func TestSystem_EachQueueDeliversEachMessageOnce(t *testing.T) {
	t.Parallel()
	redis, err := host.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redis.Stop() })
	for _, e := range system.All("") {
		if e.Open == nil || e.Server == peer.Rabbit {
			continue
		}
		t.Run(e.Name, func(t *testing.T) { //nolint:paralleltest // they share a server
			if err := redis.Reset(t.Context()); err != nil {
				t.Fatal(err)
			}
			q, err := e.Open(t.Context(), peer.Env{RedisSocket: redis.Socket})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = q.Close() }()
			deliverOnce(t, q)
		})
	}
}

const messages = 20

func deliverOnce(t *testing.T, q peer.Queue) {
	t.Helper()
	handled, listening := make(chan []byte, 2*messages), make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		c := peer.Consumer{Concurrency: 4, Of: 1, Listening: func() { listening <- struct{}{} }}
		ended <- q.Consume(ctx, c, func(_ context.Context, body []byte) error { handled <- body; return nil })
	}()
	<-listening
	send(t, q)
	seen := map[int]int{}
	for len(seen) < messages {
		select {
		case body := <-handled:
			seq, _, err := peer.ParseBody(body)
			if err != nil {
				t.Fatal(err)
			}
			seen[seq]++
		case <-time.After(20 * time.Second):
			t.Fatalf("only %d of %d messages came", len(seen), messages)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Consume = %v", err)
	}
	for seq, n := range seen {
		if n != 1 {
			t.Errorf("message %d came %d times", seq, n)
		}
	}
	if n, err := q.Size(t.Context()); n != 0 || err != nil {
		t.Errorf("Size = %d, %v at the end, want 0", n, err)
	}
}

// send sends half of the messages one by one, half in a batch where there are batches.
func send(t *testing.T, q peer.Queue) {
	t.Helper()
	l := peer.Load{Count: messages, DueMs: time.Now().Add(100 * time.Millisecond).UnixMilli(), SpreadMs: 100, BodySize: 100}
	var batch []peer.Message
	b, batches := q.(peer.Batcher)
	for i := range messages {
		if batches && i >= messages/2 {
			batch = append(batch, l.Message(i))
			continue
		}
		if err := q.Send(t.Context(), l.Message(i)); err != nil {
			t.Fatal(err)
		}
	}
	if batches {
		if err := b.SendBatch(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
}
