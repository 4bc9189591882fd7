package dueqhttp

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits of quotas.
const (
	maxRate    = 100_000              // requests a second
	minRate    = 1.0 / (24 * 60 * 60) // a request a day
	leastBurst = 10                   // a page of the dashboard makes several requests at once
	mostRated  = 10_000               // callers of a generation
)

// quotas limit how many requests a second each caller of a kind makes.
//
// It remembers the callers in two generations. When the young one has mostRated of them, it becomes
// the old one, and what was old is forgotten: so the memory has a bound, and a caller that goes on
// making requests is never forgotten unless as many others have come meanwhile.
type quotas struct {
	field string // of a refusal: what the callers are
	limit rate.Limit
	burst int

	mu         sync.Mutex
	young, old map[string]*rate.Limiter
}

// newQuotas returns nil for a rate of 0, which is no limit.
func newQuotas(field string, perSecond float64) *quotas {
	if perSecond == 0 {
		return nil
	}
	return &quotas{
		field: field, limit: rate.Limit(perSecond), burst: max(leastBurst, int(math.Ceil(perSecond))),
		young: map[string]*rate.Limiter{},
	}
}

// checkRate returns an error for a rate that cannot be one.
func checkRate(field string, perSecond float64) error {
	if perSecond == 0 || perSecond >= minRate && perSecond <= maxRate {
		return nil
	}
	return outside(field, perSecond, "0 for no limit, or a request a day to %d a second", maxRate)
}

// take counts a request of a caller, and returns an error if it comes too early.
func (q *quotas) take(caller string, now time.Time) error {
	if q == nil {
		return nil
	}
	l := q.of(caller)
	if l.AllowN(now, 1) {
		return nil
	}
	missing := max(0, 1-l.TokensAt(now)) // of a request
	return &rateError{field: q.field, caller: caller, perSecond: float64(q.limit), wait: missing / float64(q.limit)}
}

func (q *quotas) of(caller string) *rate.Limiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.young[caller]; l != nil {
		return l
	}
	l := q.old[caller]
	if l == nil {
		l = rate.NewLimiter(q.limit, q.burst)
	}
	if len(q.young) >= mostRated {
		q.old, q.young = q.young, map[string]*rate.Limiter{}
	}
	q.young[caller] = l
	return l
}

// rateError refuses a request of a caller that makes too many.
type rateError struct {
	field, caller string
	perSecond     float64
	wait          float64 // seconds
}

func (e *rateError) Error() string {
	return fmt.Sprintf("the %s %s has made too many requests, the limit is %s", e.field, e.caller, e.allowed())
}

func (e *rateError) allowed() string { return fmt.Sprintf("%.4g requests per second", e.perSecond) }

func (e *rateError) problem() problem {
	return problem{
		Status: http.StatusTooManyRequests, Code: codeRequests, Field: e.field, Value: e.caller, Limit: e.allowed(),
		Detail: e.Error(), retryAfter: int(math.Ceil(e.wait)),
	}
}

// pace counts a request of its address. Those of the machine itself have no limit: all callers
// behind a proxy on this machine have its address.
func (c *call) pace() error {
	if c.addresses == nil || c.route.probe() {
		return nil
	}
	at, err := netip.ParseAddrPort(c.r.RemoteAddr)
	if err != nil || at.Addr().Unmap().IsLoopback() {
		return nil //nolint:nilerr // a Unix socket has no address
	}
	return c.addresses.take(addressOf(c.r.RemoteAddr), time.Now())
}

// probe reports whether the route is for those who watch the server: it has no limits.
func (r *route) probe() bool { return r.path == "/livez" || r.path == "/readyz" }
