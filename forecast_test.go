package dueq_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqtest"
)

func TestForecast_SumsPartitions(t *testing.T) {
	t.Parallel()
	client := dueqtest.New(t)
	q := client.Queue("orders")
	if err := q.Create(t.Context(), dueq.Settings{Partitions: 4}); err != nil {
		t.Fatal(err)
	}
	for _, delay := range []time.Duration{0, time.Minute, time.Minute + time.Millisecond, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute, time.Hour} {
		for range 8 {
			client.Send("orders", dueq.Message{Delay: delay})
		}
	}
	f, err := q.Forecast(t.Context(), time.Minute, 3)
	if err != nil || f.Step != time.Minute || f.Ready != 8 || !slices.Equal(f.Counts, []int64{8, 16, 8}) || f.Later != 16 {
		t.Errorf("%+v, %v", f, err)
	}
	client.Advance(2 * time.Minute)
	if f, err = q.Forecast(t.Context(), time.Hour, 1); err != nil || f.Ready != 32 || f.Counts[0] != 24 || f.Later != 0 {
		t.Errorf("two minutes later: %+v, %v", f, err)
	}
}

func TestForecast_BadInput(t *testing.T) {
	t.Parallel()
	q := dueqtest.New(t).Queue("orders")
	for _, c := range []struct {
		step  time.Duration
		spans int
		want  error
	}{
		{time.Minute, 60, dueq.ErrNotFound},
		{0, 1, dueq.ErrInvalid},
		{-time.Minute, 1, dueq.ErrInvalid},
		{time.Minute + 1, 1, dueq.ErrInvalid},
		{time.Minute, 0, dueq.ErrInvalid},
		{time.Minute, -1, dueq.ErrInvalid},
		{time.Minute, 101, dueq.ErrInvalid},
		{366 * 24 * time.Hour, 100, dueq.ErrInvalid},
	} {
		if _, err := q.Forecast(t.Context(), c.step, c.spans); !errors.Is(err, c.want) {
			t.Errorf("%s, %d: %v, want %v", c.step, c.spans, err, c.want)
		}
	}
}
