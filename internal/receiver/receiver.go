// Package receiver claims messages for callers that come and go, and settles them.
package receiver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store"
)

const (
	// lanes is how many claims may be under way at a time.
	lanes = 16
	// callTimeout bounds a claim, which goes on when its caller has left.
	callTimeout = 5 * time.Second
)

// Receiver claims over a bounded set of lanes. A lane is a consumer's name with a
// number that grows; it has one claim under way at a time, and one whose outcome is
// unknown is repeated before the next of that partition.
type Receiver struct {
	store store.Store
	name  string
	slots chan struct{} // a token for every claim under way

	mu    sync.Mutex
	free  []*lane // a stack: few names are used unless many are needed
	made  int
	lines map[target]*line
}

type lane struct {
	name    string
	number  uint64
	unknown map[store.Partition]store.ClaimRequest
}

// New returns a receiver whose lanes are called after name.
func New(s store.Store, name string) *Receiver {
	return &Receiver{store: s, name: name, slots: make(chan struct{}, lanes), lines: map[target]*line{}}
}

// Claim leases up to want messages for lease ms. It returns when ctx ends; the call
// that is under way then goes on in running, and what it hands out is released.
func (r *Receiver) Claim(
	ctx context.Context, running *sync.WaitGroup, p store.Partition, want int, lease int64,
) (store.ClaimResult, error) {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return store.ClaimResult{}, ctx.Err()
	}
	type answer struct {
		result store.ClaimResult
		err    error
	}
	answered := make(chan answer)
	running.Go(func() {
		call, end := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer end()
		result, err := r.claim(call, p, want, lease)
		<-r.slots
		select {
		case answered <- answer{result, err}:
		case <-ctx.Done():
			_ = r.release(call, p, result.Deliveries) // else they come back with the end of their leases
		}
	})
	select {
	case a := <-answered:
		return a.result, a.err
	case <-ctx.Done():
		return store.ClaimResult{}, ctx.Err()
	}
}

// claim uses a lane. What an earlier call of unknown outcome has handed out, to a
// caller that has left, is given back first: its leases have been running since.
func (r *Receiver) claim(ctx context.Context, p store.Partition, want int, lease int64) (store.ClaimResult, error) {
	l := r.take()
	defer r.give(l)
	if earlier, ok := l.unknown[p]; ok {
		result, err := r.store.Claim(ctx, p, earlier)
		if err == nil {
			err = r.release(ctx, p, result.Deliveries)
		}
		if err != nil {
			return store.ClaimResult{}, noAnswer(err)
		}
		delete(l.unknown, p)
	}
	l.number++
	request := store.ClaimRequest{Consumer: l.name, Number: l.number, Max: want, Lease: lease}
	result, err := r.store.Claim(ctx, p, request)
	if err != nil && !errors.Is(err, store.ErrInvalid) {
		l.unknown[p] = request
	}
	return result, noAnswer(err)
}

func (r *Receiver) release(ctx context.Context, p store.Partition, deliveries []store.Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	items := make([]store.Settlement, len(deliveries))
	for i := range deliveries {
		items[i].Receipt = deliveries[i].Receipt
	}
	_, err := r.store.Settle(ctx, p, store.SettleRequest{Verdict: store.Release, Items: items})
	return err
}

// noAnswer tells the end of a call's own time from that of its caller's.
func noAnswer(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("no answer within %s: %w", callTimeout, store.ErrUnavailable)
	}
	return err
}

func (r *Receiver) take() *lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.free); n > 0 {
		l := r.free[n-1]
		r.free = r.free[:n-1]
		return l
	}
	r.made++
	return &lane{name: r.name + "-" + strconv.Itoa(r.made), unknown: map[store.Partition]store.ClaimRequest{}}
}

func (r *Receiver) give(l *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, l)
}
