package bench

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq"
)

// idle measures the cost of an idle consumer.
func (r *run) idle(ctx context.Context, q *dueq.Queue) error {
	r.Progress("watch an idle consumer", 0, 1)
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- q.Consume(consuming, func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{})
	}()
	const start = 2 * time.Second // until the consumer is idle
	err := sleep(ctx, min(r.For, start))
	if err == nil {
		err = r.watchIdle(ctx)
	}
	stop()
	return errors.Join(err, <-ended)
}

func (r *run) watchIdle(ctx context.Context) error {
	before, err := r.read(ctx)
	if err != nil {
		return err
	}
	if err := sleep(ctx, r.For); err != nil {
		return err
	}
	after, err := r.read(ctx)
	if err != nil {
		return err
	}
	seconds := after.at.Sub(before.at).Seconds()
	per := func(v float64) Figure { return Figure(v / seconds) }
	i := &Idleness{
		Seconds: Figure(seconds), ClientCPU: per(float64(after.cpu-before.cpu) / 1000),
		Sent: unknown(), Executed: unknown(), StoreCPU: unknown(),
	}
	if r.Server != nil {
		used := after.server.Since(before.server)
		i.Sent, i.Executed = per(float64(used.Sent)), per(float64(used.Executed))
		i.StoreCPU = per(used.CPU.Seconds() * 1000)
	}
	r.report.Idle = i
	return nil
}
