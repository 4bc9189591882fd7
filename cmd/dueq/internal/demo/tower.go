package demo

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq"
)

// tower delays one flight and cancels another, long before they are due.
func (s *show) tower(ctx context.Context) error {
	if !wait(ctx, s.Length/4) {
		return nil
	}
	late, start := find(s.flights, delayed), time.Now()
	delay := s.Length * 7 / 10
	err := s.queue.Reschedule(ctx, dueq.Key(late.message.Key), dueq.Schedule{Delay: delay})
	switch {
	case err == nil:
		s.tally.rescheduled(late, start.Add(delay), s.clock(lead+s.Length/4+delay))
	case !errors.Is(err, dueq.ErrRunning):
		return err
	}
	if !wait(ctx, s.Length/8) {
		return nil
	}
	off := find(s.flights, cancelled)
	err = s.queue.Cancel(ctx, dueq.Key(off.message.Key))
	switch {
	case err == nil:
		s.tally.cancelled(off)
	case !errors.Is(err, dueq.ErrRunning):
		return err
	}
	return nil
}

// wait returns false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
