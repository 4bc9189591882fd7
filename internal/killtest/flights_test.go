package killtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"
)

// flight is one line of the schedule that the test replays.
type flight struct {
	Key string    `json:"key"`
	Due time.Time `json:"due"`
}

// schedule returns the real schedule if its file is beside the checkout, otherwise a generated one of
// the same size and rate.
func schedule(t *testing.T) []flight {
	t.Helper()
	const beside = "../../../shared/data/flights.jsonl"
	f, err := os.Open(beside)
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("%s is not there: replaying an invented schedule", beside)
		return invented(20_000)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var flights []flight
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var fl flight
		if err := json.Unmarshal(lines.Bytes(), &fl); err != nil {
			t.Fatal(err)
		}
		flights = append(flights, fl)
	}
	return flights
}

func invented(n int) []flight {
	first := time.Date(2001, 1, 1, 0, 47, 0, 0, time.UTC)
	flights := make([]flight, n)
	for i := range flights {
		flights[i] = flight{
			Key: fmt.Sprintf("flight-%05d", i),
			Due: first.Add(90 * 24 * time.Hour * time.Duration(i) / time.Duration(n)),
		}
	}
	return flights
}

// replay maps the schedule onto the time from start on, speed times faster. Instants
// are rounded up to milliseconds, as the queue does.
func replay(flights []flight, start time.Time, speed float64) []flight {
	mapped := make([]flight, len(flights))
	for i, f := range flights {
		after := time.Duration(float64(f.Due.Sub(flights[0].Due)) / speed)
		due := start.Add(after)
		if up := due.Truncate(time.Millisecond); up.Before(due) {
			due = up.Add(time.Millisecond)
		}
		mapped[i] = flight{Key: f.Key, Due: due}
	}
	return mapped
}
