// Package demo replays a real flight schedule on a queue: every flight is a message
// that must be delivered at its departure time, not earlier, whatever goes wrong.
package demo

import (
	_ "embed" // for the schedule
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/jsonl"
)

//go:embed flights.jsonl
var schedule string

// flight is one line of the schedule. It does not change during a show.
type flight struct {
	message             jsonl.Message
	origin, destination string
	miles               int
	course              course
}

// course is the fate of a flight in the show.
type course int

const (
	smooth    course = iota
	failsOnce        // the first delivery fails, the second succeeds
	failsTwice
	failsAlways // until it is dead
	cancelled
	delayed // rescheduled
)

// attemptsOfTheHopeless is the MaxAttempts of the flight that always fails.
const attemptsOfTheHopeless = 3

// loadFlights reads the schedule, which is in the order of departure.
func loadFlights() ([]*flight, error) {
	var flights []*flight
	for in := jsonl.NewReader(strings.NewReader(schedule)); ; {
		m, err := in.Next()
		if errors.Is(err, io.EOF) {
			return castFates(flights), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the flights: %w", err)
		}
		var body struct {
			Origin      string `json:"origin"`
			Destination string `json:"destination"`
			Miles       int    `json:"distance_miles"`
		}
		if err := json.Unmarshal(m.Body, &body); err != nil {
			return nil, fmt.Errorf("read flight %s: %w", m.Key, err)
		}
		flights = append(flights, &flight{message: m, origin: body.Origin, destination: body.Destination, miles: body.Miles})
	}
}

// castFates decides what happens to which flight; it is the same in every show. The
// hopeless one comes early, so that all its attempts fit in.
func castFates(flights []*flight) []*flight {
	n := len(flights)
	for i, f := range flights {
		switch {
		case i == n/5:
			f.course = failsAlways
		case i == n/2:
			f.course = delayed
		case i == 3*n/4:
			f.course = cancelled
		case i%100 == 25:
			f.course = failsTwice
		case i%40 == 10:
			f.course = failsOnce
		}
	}
	return flights
}

// work is what a handler does with the flight: the error of this delivery, or nil when
// the flight departs.
func (f *flight) work(failures int, pause time.Duration) error {
	switch {
	case f.course == failsOnce && failures < 1, f.course == failsTwice && failures < 2:
		return dueq.RetryAfter(pause, errors.New("no crew yet"))
	case f.course == failsAlways:
		return dueq.RetryAfter(pause, errors.New("engine does not start"))
	}
	return nil
}

// find returns the flight with the given course.
func find(flights []*flight, course course) *flight {
	for _, f := range flights {
		if f.course == course {
			return f
		}
	}
	return nil
}
