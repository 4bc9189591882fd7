// Package bench measures the cost and the speed of a store. In every round it also measures the
// least work that a safe queue must do on the same server (rawredis.Floor).
package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/rawredis"
)

// The modes: the parts of the benchmark.
const (
	Send     = "send"
	Drain    = "drain"
	Lateness = "lateness"
	Idle     = "idle"
	Memory   = "memory"
	All      = "all"
)

// Config configures a run. All fields except Server must be set.
type Config struct {
	Client *dueq.Client
	Server *rawredis.Server // the server of Client, with the same prefix; nil: the store is in this process

	Mode        string
	Messages    int           // of a round, and of the memory measurement
	Body        int           // bytes
	Producers   []int         // how many goroutines call Send, for each figure of its own
	Concurrency int           // handlers, while draining
	Partitions  int           // of every queue
	Backlog     int           // messages that stay in the queue while others are sent and drained
	Rounds      int           // of which the median counts
	For         time.Duration // how long lateness and idleness are measured

	Progress func(what string, round, of int)
}

// ErrNotEmpty is returned if a queue that the run would use has messages.
var ErrNotEmpty = errors.New("is not empty")

// batch is the number of messages in one SendBatch and in one call of the floor.
const batch = 100

// run is the state of a run.
type run struct {
	Config
	body   []byte
	ahead  time.Duration // of the server's clock
	report *Report
}

// stage is a part of a run with its own queue.
type stage struct {
	modes   []string
	queue   string
	measure func(context.Context, *dueq.Queue) error
}

// Run measures, and removes what it has stored, also when ctx ends. It returns an error
// that wraps ErrNotEmpty, before anything is stored, if one of its queues is not empty.
// The store must have no other users meanwhile.
func Run(ctx context.Context, c Config) (*Report, error) {
	r := &run{Config: c, body: text(c.Body), report: newReport(c)}
	stages := slices.DeleteFunc([]stage{
		{[]string{Memory}, "bench-memory", r.memory}, // first, before other stages have fragmented the server's memory
		{[]string{Send, Drain}, "bench-load", r.load},
		{[]string{Send}, "bench-single", r.single},
		{[]string{Lateness}, "bench-lateness", r.lateness},
		{[]string{Idle}, "bench-idle", r.idle},
	}, func(s stage) bool { return c.Mode != All && !slices.Contains(s.modes, c.Mode) })
	for _, s := range stages {
		if err := refuse(ctx, c.Client.Queue(s.queue)); err != nil {
			return nil, err
		}
	}
	if err := r.meet(ctx); err != nil {
		return nil, err
	}
	for _, s := range stages {
		if err := r.stage(ctx, s); err != nil {
			return nil, err
		}
	}
	r.report.compare()
	return r.report, nil
}

// meet reads the version, the free memory and the clock of the server.
func (r *run) meet(ctx context.Context) error {
	if r.Server == nil {
		return nil
	}
	about, err := r.Server.Read(ctx)
	if err != nil {
		return err
	}
	r.report.Version = about.Version
	if need := r.need(); about.Free < need {
		return fmt.Errorf("this needs about %d MiB, the server has %d MiB left: %w", need>>20, about.Free>>20, dueq.ErrQueueFull)
	}
	r.ahead, err = r.Server.Clock(ctx)
	return err
}

// need returns the approximate number of bytes for which the server must have room: the messages
// of dueq and of the floor.
func (r *run) need() int64 {
	const overhead = 350
	return 2 * int64(r.Messages+r.Backlog) * int64(r.Body+overhead)
}

// refuse returns an error unless a queue is empty or does not exist.
func refuse(ctx context.Context, q *dueq.Queue) error {
	s, err := q.Stats(ctx)
	switch live := s.Scheduled + s.Ready + s.Leased + s.Dead; {
	case errors.Is(err, dueq.ErrNotFound):
		return nil
	case err != nil:
		return err
	case live > 0:
		return fmt.Errorf("queue %q %w: it holds %d messages", q.Name(), ErrNotEmpty, live)
	}
	return nil
}

// stage makes the queue, measures, and removes it again.
func (r *run) stage(ctx context.Context, s stage) (err error) {
	q := r.Client.Queue(s.queue)
	defer func() { err = errors.Join(err, r.clean(ctx, s.queue)) }()
	if err := q.Create(context.WithoutCancel(ctx), dueq.Settings{Partitions: r.Partitions}); err != nil {
		return err
	}
	return s.measure(ctx, q)
}

// cleanTimeout is the timeout of the removal after Ctrl-C.
const cleanTimeout = 30 * time.Second

// clean also works after ctx has ended. The queue is not in use any more then: a run does not
// cancel calls, it ends after the one in flight.
func (r *run) clean(ctx context.Context, queue string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	if r.Server != nil {
		return r.Server.Clean(ctx)
	}
	err := r.Client.DeleteQueue(ctx, queue, &dueq.DeleteQueueOptions{Force: true})
	if errors.Is(err, dueq.ErrNotFound) {
		return nil
	}
	return err
}

// rest waits until the work of the stage before has ended, so that it does not affect the next.
func (r *run) rest(ctx context.Context) error {
	runtime.GC()
	if r.Server == nil {
		return ctx.Err()
	}
	return errors.Join(ctx.Err(), r.Server.Rest(ctx))
}

// sleep waits, unless ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// now returns the time by the store's clock.
func (r *run) now() time.Time { return time.Now().Add(r.ahead) }
