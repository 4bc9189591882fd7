package embedded

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

// BenchmarkForecast counts a million messages of a partition by the days on which they are due.
func BenchmarkForecast(b *testing.B) {
	const n, batch, day = 1_000_000, 500, 86_400_000
	s, p, random := NewMemory(Config{}), store.Partition{Queue: "q"}, rand.New(rand.NewPCG(1, 2))
	for number := range uint64(n / batch) {
		r := store.PushRequest{Producer: "bench", Number: number + 1, Messages: make([]store.Message, batch)}
		for i := range r.Messages {
			m := store.Message{Delay: day + random.Int64N(28*day), MaxAttempts: 1}
			binary.NativeEndian.PutUint64(m.ID[:], random.Uint64())
			r.Messages[i] = m
		}
		if _, err := s.Push(b.Context(), p, r); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		f, err := s.Forecast(b.Context(), p, store.ForecastRequest{Step: day, Spans: 30})
		if err != nil || f.Later != 0 {
			b.Fatal(f, err)
		}
	}
}
