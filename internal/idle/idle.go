// Package idle frees values that have not been used for a while.
package idle

import (
	"sync"
	"time"
)

// Map keeps values by key, and drops a value that Get has not returned for a whole period. A
// dropped value may still be in use: then a key has two values for a while. It is safe for
// concurrent use.
type Map[K comparable, V any] struct {
	keep   func(V) bool
	ticker *Ticker

	mu    sync.Mutex
	young map[K]V // used in this period
	old   map[K]V // used in the period before only
}

// NewMap returns an empty Map. keep, if it is not nil, reports whether a value must not be
// dropped; it is called with the Map locked. Stop must be called at the end.
func NewMap[K comparable, V any](period time.Duration, keep func(V) bool) *Map[K, V] {
	m := &Map[K, V]{keep: keep, young: map[K]V{}}
	m.ticker = NewTicker(period, m.rotate)
	return m
}

// Stop ends the dropping.
func (m *Map[K, V]) Stop() { m.ticker.Stop() }

// Get returns the value of a key, which create makes if there is none.
func (m *Map[K, V]) Get(key K, create func(K) V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.young[key]; ok {
		return v
	}
	v, ok := m.old[key]
	if ok {
		delete(m.old, key)
	} else {
		v = create(key)
		m.ticker.Start()
	}
	m.young[key] = v
	return v
}

// rotate begins another period and drops the values that were not used in the last one. It
// returns how many values are left.
func (m *Map[K, V]) rotate() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	unused := m.old
	m.young, m.old = map[K]V{}, m.young
	for key, v := range unused {
		if m.kept(v) {
			m.old[key] = v
		}
	}
	return len(m.old)
}

func (m *Map[K, V]) kept(v V) bool { return m.keep != nil && m.keep(v) }

// Drop drops all values whose key is chosen, used or not, unless they must be kept.
func (m *Map[K, V]) Drop(chosen func(K) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, of := range []map[K]V{m.young, m.old} {
		for key, v := range of {
			if chosen(key) && !m.kept(v) {
				delete(of, key)
			}
		}
	}
}

// All calls visit for every value.
func (m *Map[K, V]) All(visit func(K, V)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, of := range []map[K]V{m.young, m.old} {
		for key, v := range of {
			visit(key, v)
		}
	}
}

// Ticker calls a function at the end of each period, from Start until the function returns 0.
// It has no goroutine, and no timer before Start.
type Ticker struct {
	period time.Duration
	tick   func() (remaining int)

	mu      sync.Mutex
	timer   *time.Timer // nil: it is not running
	stopped bool
}

// NewTicker returns a Ticker. tick returns how many values are left; 0 ends the ticking until
// the next Start.
func NewTicker(period time.Duration, tick func() (remaining int)) *Ticker {
	return &Ticker{period: period, tick: tick}
}

// Start begins ticking, unless the Ticker is running.
func (t *Ticker) Start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil && !t.stopped {
		t.timer = time.AfterFunc(t.period, t.run)
	}
}

func (t *Ticker) run() {
	t.mu.Lock()
	t.timer = nil // the next Start starts it again
	t.mu.Unlock()
	if t.tick() > 0 {
		t.Start()
	}
}

// Stop ends it for good.
func (t *Ticker) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}
