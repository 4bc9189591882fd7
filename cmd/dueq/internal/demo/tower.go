package demo

import (
	"context"
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
	done, err := s.queue.Reschedule(ctx, dueq.Key(late.message.Key), dueq.Schedule{Delay: delay})
	if err != nil {
		return err
	}
	if done {
		s.tally.rescheduled(late, start.Add(delay), s.clock(lead+s.Length/4+delay))
	}
	if !wait(ctx, s.Length/8) {
		return nil
	}
	off := find(s.flights, cancelled)
	if done, err = s.queue.Cancel(ctx, dueq.Key(off.message.Key)); err != nil {
		return err
	}
	if done {
		s.tally.cancelled(off)
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
