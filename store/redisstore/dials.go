package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/dueq-dev/dueq/internal/reach"
	"github.com/dueq-dev/dueq/internal/redisurl"
	"github.com/dueq-dev/dueq/store"
)

// dials knows which addresses refuse connections. go-redis dials an address several times before a
// call fails, and asks all Sentinels several times; Reach need not wait for that.
type dials struct {
	url *redisurl.URL

	mu        sync.Mutex
	connected bool // to one of them, at any time
	refused   map[string]error
	ended     context.CancelCauseFunc // of the call of Reach; nil: of none
}

// refusal is the cause of a context that ended because all addresses refuse connections.
type refusal struct{ error }

func newDials(url *redisurl.URL) *dials { return &dials{url: url, refused: map[string]error{}} }

// done takes the result of dialing an address.
func (d *dials) done(addr string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.connected = true
	}
	if d.connected || !reach.Refused(err) {
		return
	}
	d.refused[addr] = err
	if d.ended != nil && len(d.refused) >= d.url.Hosts() {
		d.ended(refusal{err})
	}
}

// bound returns a context that ends when all addresses have refused a connection.
func (d *dials) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = cancel
	return ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ended = nil
		cancel(nil)
	}
}

// Reach returns nil when a server answers; of a Cluster, any of its masters. The others are
// inspected before the first call to them. Otherwise it repeats that like any call, except that
// with a context of reach.AtOnce it returns when all addresses of the URL refuse connections. Then,
// and when the time of ctx is over, it adds to the error whether the URL is wrong about TLS.
func (s *Store) Reach(ctx context.Context) error {
	if s.dials == nil || !reach.IsAtOnce(ctx) {
		return s.reach(ctx)
	}
	bound, end := s.dials.bound(ctx)
	defer end()
	err := s.reach(bound)
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	if why, ok := errors.AsType[refusal](context.Cause(bound)); ok {
		err = fail("open", "", fmt.Errorf("%w: %w", store.ErrUnavailable, why.error))
	}
	if hint := s.dials.url.Mismatch(context.WithoutCancel(ctx)); hint != "" {
		err = fmt.Errorf("%w: %s", err, hint)
	}
	return err
}
