package bench

import (
	"context"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
)

// memory measures the memory of a scheduled message.
func (r *run) memory(ctx context.Context, q *dueq.Queue) error {
	r.report.Memory = &Held{Messages: r.Messages}
	each := []*Figure{&r.report.Memory.Bytes, &r.report.Floor.Memory}
	for i, s := range r.sides(q, "memory") {
		r.Progress("measure memory", i, 2)
		before, err := r.inUse(ctx)
		if err != nil {
			return err
		}
		if err := s.send(ctx, r.Messages, r.now().Add(24*time.Hour)); err != nil {
			return err
		}
		after, err := r.inUse(ctx)
		if err != nil {
			return err
		}
		*each[i] = Figure(float64(after-before) / float64(r.Messages))
	}
	return nil
}

// inUse returns how many bytes the server uses or, without one, the heap of this process.
func (r *run) inUse(ctx context.Context) (int64, error) {
	if err := r.rest(ctx); err != nil {
		return 0, err
	}
	if r.Server != nil {
		now, err := r.Server.Read(ctx)
		return now.Memory, err
	}
	return measure.Heap(), nil
}
