package workload

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
)

// audit records every message that was handled, in any process, and reports which were lost, handled
// twice, or early.
type audit struct {
	want int

	mu    sync.Mutex
	seen  map[int]int // how often
	late  []time.Duration
	early int
	news  time.Time // when a message was last seen for the first time
	half  chan struct{}
}

func newAudit(want int) *audit {
	return &audit{want: want, seen: make(map[int]int, want), half: make(chan struct{})}
}

func (a *audit) done(d driver.Done) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[d.Seq]++
	if d.Late < 0 {
		a.early++
	}
	if a.seen[d.Seq] > 1 {
		return
	}
	a.late = append(a.late, d.Late)
	a.news = d.At
	if len(a.seen) == a.want/2 {
		close(a.half)
	}
}

// lateness of the first time of each message.
func (a *audit) lateness() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]time.Duration(nil), a.late...)
}

func (a *audit) values() Values {
	a.mu.Lock()
	defer a.mu.Unlock()
	twice := 0
	for _, n := range a.seen {
		if n > 1 {
			twice++
		}
	}
	return Values{
		"lost":  float64(a.want - len(a.seen)),
		"twice": float64(twice),
		"early": float64(a.early),
	}
}

// wait returns when all messages have arrived and the queue is empty, or when none has arrived for so
// long after from that none will. That is not an error but a result.
func (a *audit) wait(ctx context.Context, p *driver.Process, from time.Time, timeout time.Duration) error {
	for {
		all, news := a.state()
		if all {
			size, err := p.Call(ctx, driver.Request{Op: driver.OpSize})
			if err != nil {
				return err
			}
			if size.Size == 0 {
				return nil
			}
		}
		if news.After(from) {
			from = news
		}
		if time.Since(from) > timeout {
			return nil
		}
		if err := sleepUntil(ctx, time.Now().Add(50*time.Millisecond)); err != nil {
			return err
		}
	}
}

func (a *audit) state() (all bool, news time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.seen) == a.want, a.news
}

// awaitHalf waits until half of the messages have come.
func (a *audit) awaitHalf(ctx context.Context, timeout time.Duration) error {
	select {
	case <-a.half:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(timeout):
		return errors.New("half of the messages have not come")
	}
}
