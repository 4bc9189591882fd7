package redisstore

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// Forecast implements store.Store. It costs one call.
func (s *Store) Forecast(ctx context.Context, p store.Partition, r store.ForecastRequest) (store.Forecast, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return store.Forecast{}, err
	}
	got, err := s.run(ctx, call{
		op: "forecast", queue: p.Queue, script: s.scripts["forecast"], keys: s.partitionKeys(p, 4), args: []any{r.Step, r.Spans}, joint: true,
	})
	if err != nil {
		return store.Forecast{}, err
	}
	fields, ok := got.([]any)
	if !ok || len(fields) != r.Spans+2 {
		return store.Forecast{}, fail("forecast", p.Queue, unexpected(got))
	}
	in := numbers{script: "forecast"}
	f := store.Forecast{Ready: in.read("ready", fields[0]), Counts: make([]int64, r.Spans), Later: in.read("later", fields[r.Spans+1])}
	for i := range f.Counts {
		f.Counts[i] = in.read("count", fields[i+1])
	}
	if in.err != nil {
		return store.Forecast{}, fail("forecast", p.Queue, in.err)
	}
	return f, nil
}
