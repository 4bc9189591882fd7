package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dueq-dev/dueq/internal/measure"
)

// Workload is a workload of a number of messages; Run returns its rate per second.
type Workload struct {
	Name     string
	Messages int
	do       func(ctx context.Context, e Engine, n int) error
}

// Workloads are the workloads of every engine. Bodies have 100 bytes.
func Workloads() []Workload {
	return []Workload{
		{"send, 1 goroutine", 10_000, func(ctx context.Context, e Engine, n int) error { return send(ctx, e, n, 1) }},
		{"send, batches of 100", 200_000, func(ctx context.Context, e Engine, n int) error { return send(ctx, e, n, 100) }},
		{"send + receive + ack, 64 goroutines", 100_000, live},
	}
}

// Run runs the workload on a fresh engine in a temporary directory under dir.
func (w Workload) Run(ctx context.Context, o Opener, dir string, scale float64) (perSecond float64, err error) {
	dir, err = os.MkdirTemp(dir, "engine")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e, err := o.Open(ctx, dir)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", o.Name, err)
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	n := max(100, int(float64(w.Messages)*scale))
	began := time.Now()
	if err := w.do(ctx, e, n); err != nil {
		return 0, fmt.Errorf("%s: %s: %w", o.Name, w.Name, err)
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

func body() []byte { return bytes.Repeat([]byte("dueq "), 20) }

func send(ctx context.Context, e Engine, n, batch int) error {
	bodies := make([][]byte, batch)
	for i := range bodies {
		bodies[i] = body()
	}
	for range n / batch {
		if err := e.Send(ctx, bodies, true); err != nil {
			return err
		}
	}
	return nil
}

// live sends, takes and acks each message.
func live(ctx context.Context, e Engine, n int) error {
	const goroutines = 64
	err := measure.Share(ctx, n, 1, goroutines, func(ctx context.Context, _, _ int) error {
		if err := e.Send(ctx, [][]byte{body()}, false); err != nil {
			return err
		}
		return e.Take(ctx)
	})
	return errors.Join(err, ctx.Err())
}
