package dueqhttp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dueq-dev/dueq"
)

// Spans of looking at the store.
const (
	pollEvery   = time.Second
	pollTimeout = 10 * time.Second
	// pollShare is how many times as long as the last look the time until the next one is at
	// least, so that a store with very many queues is not always being looked at.
	pollShare = 10
)

// queueState is the state of a queue in an event.
type queueState struct {
	Queue         string   `json:"queue"`
	Paused        bool     `json:"paused"`
	Scheduled     int64    `json:"scheduled"`
	Ready         int64    `json:"ready"`
	Leased        int64    `json:"leased"`
	Dead          int64    `json:"dead"`
	Done          int64    `json:"done"`
	OldestReadyMS int64    `json:"oldest_ready_ms"`
	Consumers     int      `json:"consumers"`
	Counters      counters `json:"counters"`
	Rates         *rates   `json:"rates,omitempty"` // not in the first event after a while
}

// rates are how often something happens, per second since the look at the store before.
type rates struct {
	Sent         float64 `json:"sent"`
	Delivered    float64 `json:"delivered"`
	Acked        float64 `json:"acked"`
	Nacked       float64 `json:"nacked"`
	DeadLettered float64 `json:"dead_lettered"`
}

// rawState is a queueState in JSON, which is made once for all readers.
type rawState = json.RawMessage

// sinceChange is by how much the instant at which the oldest ready message became due must change to
// be a change. It is the server's time of the look minus a span of the store, between which a call
// lies.
const sinceChange = 2 * time.Second

// snapshot is the state of all queues at one time. It is not changed.
type snapshot struct {
	queues []namedState
	err    error // of the store
	none   bool  // the store was not looked at yet
	more   chan struct{}
	next   *snapshot // set when more is closed
}

// namedState is the state of a queue.
type namedState struct {
	name  string
	state rawState
	rest  string    // the state without for how long messages have been ready, which always grows
	since time.Time // when the oldest ready message became due; zero: none is ready
}

// same reports whether a reader who knows the state before needs not be sent this one.
func (s *namedState) same(before *namedState) bool {
	return s.rest == before.rest && s.since.Sub(before.since).Abs() < sinceChange
}

// feed looks at the store for all readers of events together, while there are any.
type feed struct {
	mu      sync.Mutex
	readers int
	poller  *poller // nil: there is no reader
}

// poller looks at the store.
type poller struct {
	client *dueq.Client
	log    *slog.Logger
	stop   context.CancelFunc
	ended  chan struct{}

	mu   sync.Mutex
	last *snapshot
}

// join adds a reader. It must leave.
func (f *feed) join(client *dueq.Client, log *slog.Logger) (*poller, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers >= maxReaders {
		return nil, &busyError{code: codeReaders, what: "for events are open", most: maxReaders}
	}
	f.readers++
	if f.poller == nil {
		ctx, stop := context.WithCancel(context.Background()) // it belongs to no single reader
		f.poller = &poller{client: client, log: log, stop: stop, ended: make(chan struct{}), last: &snapshot{none: true, more: make(chan struct{})}}
		go f.poller.run(ctx)
	}
	return f.poller, nil
}

// leave removes a reader. With the last one the looks at the store end.
func (f *feed) leave(p *poller) {
	f.mu.Lock()
	f.readers--
	none := f.readers == 0
	if none {
		f.poller = nil
	}
	f.mu.Unlock()
	if none {
		p.stop()
		<-p.ended
	}
}

// run looks at the store until ctx ends.
func (p *poller) run(ctx context.Context) {
	defer close(p.ended)
	var before []dueq.Stats
	var at time.Time
	for ctx.Err() == nil {
		began := time.Now()
		all, err := p.look(ctx)
		p.publish(&snapshot{queues: states(all, before, began, at), err: err, more: make(chan struct{})})
		if err == nil {
			before, at = all, began
		}
		timer := time.NewTimer(max(pollEvery-time.Since(began), pollShare*time.Since(began)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// look returns the state of all queues. A panic is an error: it belongs to no single reader.
func (p *poller) look(ctx context.Context) (all []dueq.Stats, err error) {
	ctx, end := context.WithTimeout(ctx, pollTimeout)
	defer end()
	defer func() {
		if value := recover(); value != nil {
			p.log.LogAttrs(ctx, slog.LevelError, "dueqhttp: panic", slog.Any("value", value), slog.String("stack", string(debug.Stack())))
			err = errors.New("a panic")
		}
	}()
	return p.client.Stats(ctx)
}

// publish makes a snapshot the last one.
func (p *poller) publish(s *snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last.next = s
	close(p.last.more)
	p.last = s
}

// after waits for a snapshot that is newer than known (nil: any) and returns the last one.
func (p *poller) after(ctx context.Context, known *snapshot) (*snapshot, error) {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	if !last.none && last != known {
		return last, nil
	}
	select {
	case <-last.more:
		return last.next, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// within is after for a limited time; nil if there was no newer snapshot.
func (p *poller) within(ctx context.Context, known *snapshot, most time.Duration) (*snapshot, error) {
	limited, end := context.WithTimeout(ctx, most)
	defer end()
	next, err := p.after(limited, known)
	if err != nil && ctx.Err() == nil {
		return nil, nil //nolint:nilnil // no newer snapshot is no error
	}
	return next, err
}

// states returns the states of queues at a look, with their rates since an earlier one.
func states(all, before []dueq.Stats, at, earlierAt time.Time) []namedState {
	earlier := make(map[string]*dueq.Stats, len(before))
	for i := range before {
		earlier[before[i].Queue] = &before[i]
	}
	named := make([]namedState, len(all))
	for i := range all {
		state := newState(&all[i])
		if old := earlier[all[i].Queue]; old != nil {
			state.Rates = newRates(&all[i].Counters, &old.Counters, at.Sub(earlierAt))
		}
		encoded, _ := json.Marshal(state) // it has only text and finite numbers
		named[i] = namedState{name: all[i].Queue, state: encoded}
		if state.Ready > 0 {
			named[i].since = at.Add(-all[i].OldestReady)
		}
		state.OldestReadyMS = 0
		encoded, _ = json.Marshal(state)
		named[i].rest = string(encoded)
	}
	return named
}

func newState(s *dueq.Stats) queueState {
	return queueState{
		Queue: s.Queue, Paused: s.Settings.Paused, Scheduled: s.Scheduled, Ready: s.Ready, Leased: s.Leased, Dead: s.Dead, Done: s.Done,
		OldestReadyMS: s.OldestReady.Milliseconds(), Consumers: s.Consumers, Counters: counters(s.Counters),
	}
}

func newRates(now, before *dueq.Counters, since time.Duration) *rates {
	rate := func(now, before int64) float64 {
		const digits = 10
		return math.Round(digits*float64(max(0, now-before))/since.Seconds()) / digits // less, if the queue was made again
	}
	return &rates{
		Sent: rate(now.Sent, before.Sent), Delivered: rate(now.Delivered, before.Delivered), Acked: rate(now.Acked, before.Acked),
		Nacked: rate(now.Nacked, before.Nacked), DeadLettered: rate(now.DeadLettered, before.DeadLettered),
	}
}
