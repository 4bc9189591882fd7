package push

import (
	"context"
	"sync"
	"time"
)

// pace distributes requests evenly over time.
type pace struct {
	every time.Duration

	mu   sync.Mutex
	next time.Time // when the next request may begin
}

// wait returns when a request may begin, or the error of ctx.
func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	at := now
	if p.next.After(now) {
		at = p.next
	}
	p.next = at.Add(p.every)
	p.mu.Unlock()
	timer := time.NewTimer(at.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
