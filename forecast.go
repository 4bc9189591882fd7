package dueq

import (
	"context"
	"fmt"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Forecast is how many messages of a queue become due when. Those whose TTL ends before are among
// them.
type Forecast struct {
	Step  time.Duration
	Ready int64 // due now
	// Counts are the messages that become due in each span: element i in more than i and at most
	// i + 1 steps from now, by the store's clock.
	Counts []int64
	Later  int64 // messages that become due after the last span
}

// Forecast returns how many messages become due in each of the next spans of time: with a minute
// and 60, in each minute of the next hour. step is 1 ms or more, spans 1 to 100, and both together
// at most 10 years. Each partition is read at its own instant.
//
// Errors: [ErrInvalid], [ErrNotFound] for an unknown queue. It costs one read of each partition.
// With Redis its work does not depend on how many messages there are; the embedded store counts
// those that become due within the spans, 10,000 at a time, between which other calls run.
func (q *Queue) Forecast(ctx context.Context, step time.Duration, spans int) (Forecast, error) {
	if err := q.guard(ctx); err != nil {
		return Forecast{}, fail("forecast", q.name, "", err)
	}
	r := store.ForecastRequest{Step: step.Milliseconds(), Spans: spans}
	err := r.Validate()
	if err == nil && step%time.Millisecond != 0 {
		err = invalid("step", "%s is not a number of milliseconds", step)
	}
	if err != nil {
		return Forecast{}, fail("forecast", q.name, "", err)
	}
	f := Forecast{Step: step, Counts: make([]int64, spans)}
	settings, err := q.read(ctx)
	for i := 0; err == nil && i < settings.Partitions; i++ {
		err = q.addForecast(ctx, &f, i, r)
	}
	if err != nil {
		return Forecast{}, fail("forecast", q.name, "", err)
	}
	return f, nil
}

// addForecast adds the messages of a partition.
func (q *Queue) addForecast(ctx context.Context, f *Forecast, partition int, r store.ForecastRequest) error {
	part, err := q.client.store.Forecast(ctx, store.Partition{Queue: q.name, Index: partition}, r)
	if err != nil {
		return err
	}
	if len(part.Counts) != len(f.Counts) {
		return fmt.Errorf("partition %d has %d spans, want %d: %w", partition, len(part.Counts), len(f.Counts), ErrCorrupt)
	}
	f.Ready += part.Ready
	f.Later += part.Later
	for i, n := range part.Counts {
		f.Counts[i] += n
	}
	return nil
}
