package demo

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
)

// Result counts the deliveries that the handlers got. Scripts read its JSON.
type Result struct {
	Sent      int      `json:"sent"`
	Delivered int      `json:"delivered"` // flights whose handler succeeded
	Retried   int      `json:"retried"`   // deliveries after the first of a flight
	Dead      int      `json:"dead"`      // flights found among the dead letters
	Cancelled int      `json:"cancelled"`
	Early     int      `json:"early"` // deliveries before the due time
	Lost      int      `json:"lost"`  // flights that are none of delivered, dead, cancelled
	Lateness  Lateness `json:"lateness_ms"`
}

// Lateness is how long after its due time the handler of a delivery started, in ms.
type Lateness struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Event is a line of the departures board.
type Event struct {
	Kind                EventKind
	Departs             time.Time // as in the schedule
	Origin, Destination string
	Miles               int
	Gate                string        // "" when the tower did it
	Attempt             int           // Departed, Held, Grounded
	Lateness            time.Duration // of the delivery
	Reason              string        // Held, Grounded: the handler's error
	To                  time.Time     // Delayed: the new time of departure
	Rescheduled         bool          // Departed: at the new time
}

// EventKind is what happened to a flight.
type EventKind int

// The kinds of events.
const (
	Departed  EventKind = iota // the handler succeeded
	Held                       // it failed; the flight is retried
	Grounded                   // it failed for the last time; the flight is dead
	Cancelled                  // by the tower
	Delayed                    // by the tower
)

// View is the state that a screen shows.
type View struct {
	Clock  time.Time // of the schedule
	Share  float64   // of the show that has passed, 0 to 1
	Counts Result    // so far; Dead is what handlers expect, Lost and Lateness are empty
	Events []Event   // since the view before
}

// tally collects the events of a show. It uses what the handlers got, not the counters of the
// queue.
type tally struct {
	mu       sync.Mutex
	states   map[*flight]*state
	counts   Result
	lateness []time.Duration
	events   []Event // not yet viewed
	wrong    []string
	open     int // flights that have not ended
	finished chan struct{}
}

// state is the state of one flight.
type state struct {
	notBefore                         time.Time // by this process's own clock, with its monotonic part
	departed, dead, cancelled, closed bool
	rescheduled                       bool
}

func newTally(flights []*flight) *tally {
	t := &tally{states: make(map[*flight]*state, len(flights)), open: len(flights), finished: make(chan struct{})}
	for _, f := range flights {
		t.states[f] = &state{}
	}
	return t
}

// plan sets the instant before which a flight must not be delivered.
func (t *tally) plan(f *flight, notBefore time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states[f].notBefore = notBefore
}

func (t *tally) sent(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Sent = n
}

// delivered counts a delivery. It is early if it comes before its due time, or before the delay
// of its send has passed by the local clock, which does not depend on the store's clock.
func (t *tally) delivered(f *flight, gate string, d *dueq.Delivery, started time.Time, failure error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.states[f]
	if started.Before(d.Due) || started.Before(s.notBefore) {
		t.counts.Early++
	}
	if d.Attempt > 1 {
		t.counts.Retried++
	}
	if s.cancelled {
		t.wrong = append(t.wrong, fmt.Sprintf("flight %s was delivered after it had been cancelled", d.Key))
	}
	e := t.event(Departed, f)
	e.Gate, e.Attempt, e.Lateness, e.Rescheduled = gate, d.Attempt, started.Sub(d.Due), s.rescheduled
	t.lateness = append(t.lateness, e.Lateness)
	switch {
	case failure == nil:
		if !s.departed {
			t.counts.Delivered++
		}
		s.departed = true
		t.close(s)
	case d.Failures+1 >= d.MaxAttempts:
		e.Kind, e.Reason = Grounded, failure.Error()
		t.counts.Dead++
		t.close(s)
	default:
		e.Kind, e.Reason = Held, failure.Error()
	}
	t.events = append(t.events, e)
}

func (t *tally) rescheduled(f *flight, notBefore, departs time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states[f].notBefore, t.states[f].rescheduled = notBefore, true
	e := t.event(Delayed, f)
	e.To = departs
	t.events = append(t.events, e)
}

func (t *tally) cancelled(f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states[f].cancelled = true
	t.counts.Cancelled++
	t.close(t.states[f])
	t.events = append(t.events, t.event(Cancelled, f))
}

// foundDead counts a dead letter of the queue.
func (t *tally) foundDead(r dueq.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for f, s := range t.states {
		if f.message.Key == r.Key {
			s.dead = true
			return
		}
	}
	t.wrong = append(t.wrong, fmt.Sprintf("dead letter %s is no flight", r.ID))
}

// close marks that a flight has ended. t.mu is held.
func (t *tally) close(s *state) {
	if s.closed {
		return
	}
	s.closed = true
	if t.open--; t.open == 0 {
		close(t.finished)
	}
}

func (t *tally) event(kind EventKind, f *flight) Event {
	return Event{Kind: kind, Departs: f.message.Due, Origin: f.origin, Destination: f.destination, Miles: f.miles}
}

// view returns the counts so far, and the events since the last view.
func (t *tally) view(clock time.Time, share float64) View {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := View{Clock: clock, Share: min(share, 1), Counts: t.counts, Events: t.events}
	t.events = nil
	return v
}

// broken returns an error for broken guarantees that have no figure in the result.
func (t *tally) broken() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.wrong) > 0 {
		return fmt.Errorf("%d promises were broken, the first: %s", len(t.wrong), t.wrong[0])
	}
	return nil
}

func (t *tally) result() Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.counts
	r.Dead = 0
	for _, s := range t.states {
		switch {
		case s.dead:
			r.Dead++
		case !s.departed && !s.cancelled:
			r.Lost++
		}
	}
	slices.Sort(t.lateness)
	r.Lateness = Lateness{
		P50: milliseconds(measure.Quantile(t.lateness, 0.5)),
		P99: milliseconds(measure.Quantile(t.lateness, 0.99)),
		Max: milliseconds(measure.Quantile(t.lateness, 1)),
	}
	return r
}

// milliseconds returns d in ms with three decimals.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
