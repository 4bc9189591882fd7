package httpstore_test

import (
	"fmt"
	"testing"

	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// BenchmarkPush pushes to a store in memory, first without and then behind a server.
func BenchmarkPush(b *testing.B) {
	for _, size := range []struct{ messages, body int }{{1, 100}, {100, 100}, {500, 2000}, {1, store.MaxBody}} {
		name := fmt.Sprintf("%dx%dB", size.messages, size.body)
		b.Run(name+"/local", func(b *testing.B) { benchmarkPush(b, memory(b), size.messages, size.body) })
		b.Run(name+"/remote", func(b *testing.B) {
			benchmarkPush(b, open(b, serve(b, memory(b), dueqhttp.Options{}, unchanged).URL), size.messages, size.body)
		})
	}
}

// memory returns a store whose messages are replaced, so that it does not grow.
func memory(b *testing.B) store.Store {
	s := embedded.NewMemory(embedded.Config{})
	b.Cleanup(func() { _ = s.Close() })
	most := store.MaxBody
	if _, err := s.Configure(b.Context(), "q", store.Change{Create: true, MaxBody: &most}); err != nil {
		b.Fatal(err)
	}
	return s
}

func benchmarkPush(b *testing.B, s store.Store, messages, body int) {
	r := store.PushRequest{Producer: "p", Messages: make([]store.Message, messages)}
	for i := range r.Messages {
		r.Messages[i] = store.Message{Key: fmt.Sprint(i), Replace: true, Body: make([]byte, body), MaxAttempts: 1, Delay: 1000}
	}
	b.SetBytes(int64(messages * body))
	for b.Loop() {
		r.Number++
		for i := range r.Messages {
			r.Messages[i].ID = route.NewID(0)
		}
		if _, err := s.Push(b.Context(), store.Partition{Queue: "q"}, r); err != nil {
			b.Fatal(err)
		}
	}
}
