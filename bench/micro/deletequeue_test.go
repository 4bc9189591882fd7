package micro

import (
	"context"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// BenchmarkDeleteQueue deletes a queue of one partition with a million messages, and reports
// the longest time for which a command blocked the server, by its slow log.
func BenchmarkDeleteQueue(b *testing.B) {
	const messages = 1_000_000
	ctx, rdb := context.Background(), redistest.Start(b).Client(b)
	client, err := dueq.NewRedis(rdb, &dueq.Options{Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	r := &rig{B: b, queue: client.Queue("large")}
	var longest time.Duration
	for b.Loop() {
		b.StopTimer()
		if err := r.queue.Create(ctx, dueq.Settings{Partitions: 1}); err != nil {
			b.Fatal(err)
		}
		r.fill(messages)
		err := rdb.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err()
		if err == nil {
			err = rdb.Do(ctx, "SLOWLOG", "RESET").Err()
		}
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := client.DeleteQueue(ctx, "large", &dueq.DeleteQueueOptions{Force: true}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		commands, err := rdb.SlowLogGet(ctx, -1).Result()
		if err != nil || len(commands) == 0 {
			b.Fatal(commands, err)
		}
		for _, c := range commands {
			longest = max(longest, c.Duration)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(longest.Microseconds()), "longest-command-us")
}
