package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

const (
	// retryAfter is the longest sleep after an error.
	retryAfter = 200 * time.Millisecond
	// claimTimeout is how long one of several partitions may take to answer. Deliveries that it
	// hands out later are released. The timeout of a partition that has not answered lately is
	// suspectTimeout.
	claimTimeout   = time.Second
	suspectTimeout = 50 * time.Millisecond
)

// Poll is one round of claims from the partitions of a queue.
type Poll struct {
	Queue      string
	Partitions int
	First      int   // the partition to ask first
	Max        int   // deliveries wanted
	Lease      int64 // ms
	// Pass reports whether a delivery is not for the caller, and settles it then.
	Pass func(context.Context, *Held) bool
}

// Poll claims from one partition after the other until it has p.Max messages. It returns how long
// to wait if there are none. A partition that has not answered lately is asked last, and only if
// the others have nothing, because its server may be down. The error of a partition is returned
// only if the others have nothing, too. Calls that are in flight when ctx ends continue in
// running.
func (r *Receiver) Poll(ctx context.Context, running *sync.WaitGroup, p Poll) ([]*Held, time.Duration, error) {
	var suspects []int
	round := &round{Poll: p, receiver: r, running: running, wait: store.MaxWait}
	timeout := time.Duration(0)
	if p.Partitions > 1 {
		timeout = claimTimeout
	}
	for i := range p.Partitions {
		index := (p.First + i) % p.Partitions
		if p.Partitions > 1 && r.Suspect(store.Partition{Queue: p.Queue, Index: index}) {
			suspects = append(suspects, index)
		} else if round.ask(ctx, index, timeout) {
			break
		}
	}
	if len(round.found) > 0 || round.paused || ctx.Err() != nil {
		suspects = nil
	}
	for _, index := range suspects {
		if round.ask(ctx, index, suspectTimeout) {
			break
		}
	}
	return round.outcome(ctx)
}

// round is the state of one Poll.
type round struct {
	Poll
	receiver *Receiver
	running  *sync.WaitGroup
	found    []*Held
	wait     time.Duration
	paused   bool
	served   bool  // at least one partition has answered
	failed   error // the first error
}

// ask claims the messages that are still wanted from a partition, and reports whether none are
// wanted any more.
func (r *round) ask(ctx context.Context, index int, timeout time.Duration) (enough bool) {
	from := store.Partition{Queue: r.Queue, Index: index}
	request := store.ClaimRequest{Max: r.Max - len(r.found), Lease: r.Lease, Of: r.Partitions}
	result, err := r.receiver.Claim(ctx, r.running, from, request, timeout)
	switch {
	case errors.Is(err, store.ErrRepartitioned):
		r.failed = err
		return true
	case err != nil:
		r.failed = cmp.Or(r.failed, err)
		return ctx.Err() != nil
	case result.Paused:
		r.paused = true
		return true
	}
	r.served = true
	passed, claim := false, &claimed{Partition: from, holder: r.receiver}
	for i := range result.Deliveries {
		h := &Held{claimed: claim, Delivery: &result.Deliveries[i]}
		if r.Pass(ctx, h) {
			passed = true
			continue
		}
		r.found = append(r.found, h)
	}
	r.wait = min(r.wait, result.Wait)
	if passed && len(r.found) < r.Max {
		return r.ask(ctx, index, timeout) // the next message is due as well
	}
	return len(r.found) == r.Max
}

// outcome returns the deliveries, or an error if there are none.
func (r *round) outcome(ctx context.Context) ([]*Held, time.Duration, error) {
	switch {
	case len(r.found) > 0:
		return r.found, 0, nil
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case r.paused:
		return nil, 0, store.ErrPaused
	case r.failed != nil && r.served: // whatever the error is, the other partitions may have messages later
		return nil, r.wait, fmt.Errorf("%w: %w", store.ErrUnavailable, r.failed)
	}
	return nil, r.wait, r.failed
}

// worthWaiting reports whether a caller that got no message may get one later.
func worthWaiting(err error) bool {
	return err == nil || errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrFailed)
}
