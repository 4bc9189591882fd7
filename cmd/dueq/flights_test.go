package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/measure"
)

// flightsFile is the complete schedule; it is not part of the repository.
func flightsFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", "flights.jsonl")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the full file of 20,000 flights is not beside this repository (%v); the 441 of the demo are tested anyway", err)
	}
	return path
}

// drain collects what receive --follow prints, until it has seen enough.
type drain struct {
	t      *testing.T
	enough int
	stop   context.CancelFunc

	mu    sync.Mutex
	seen  map[string]int
	early int
	late  []time.Duration
}

// Write gets one message at a time.
func (d *drain) Write(line []byte) (int, error) {
	now := time.Now()
	var m delivery
	if err := json.Unmarshal(line, &m); err != nil {
		d.t.Errorf("%q: %v", line, err)
	}
	due, err := time.Parse(time.RFC3339, m.Due)
	if err != nil {
		d.t.Error(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Before(due) {
		d.early++
	}
	d.late = append(d.late, now.Sub(due))
	if d.seen[m.Key]++; len(d.seen) == d.enough {
		d.stop()
	}
	return len(line), nil
}

// TestImport_FlightsAreImportedAndDrained replays three months in a few seconds, while a consumer
// runs.
func TestImport_FlightsAreImportedAndDrained(t *testing.T) {
	t.Parallel()
	path := flightsFile(t)
	s, _ := onRedis(t)
	const flights = 19_998
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	d := &drain{t: t, enough: flights, stop: cancel, seen: map[string]int{}}
	followed := make(chan outcome, 1)
	go func() { followed <- s.write(ctx, "", d, "receive", "--queue", "flights", "--follow", "-o", "json") }()
	// The highest speed at which sender and consumer are sometimes idle.
	got := decode[importResult](t, s.ok("import", "--queue", "flights", "--speed", "2000000", path, "-o", "json"))
	if want := (importResult{Queue: "flights", Lines: 20_000, Stored: flights, Duplicate: 2}); got != want {
		t.Errorf("imported %+v, want %+v", got, want)
	}
	if got := <-followed; got.code != exitOK || got.err != "" {
		t.Errorf("receive --follow: exit %d, stderr %q", got.code, got.err)
	}
	if len(d.seen) != flights || d.early != 0 {
		t.Errorf("%d flights were delivered, %d early, want %d and 0", len(d.seen), d.early, flights)
	}
	t.Logf("lateness %s", measure.SpreadOf(d.late))
	if st := s.stats("flights"); st.Acked != st.Sent || st.Scheduled+st.Ready+st.Leased+st.Dead != 0 {
		t.Errorf("left behind: %+v", st)
	}
	s.ok("check", "--queue", "flights")
}

func TestImport_FlightsAreImportedCompletely(t *testing.T) {
	t.Parallel()
	path := flightsFile(t)
	s, _ := onRedis(t)
	for _, want := range []importResult{
		{Queue: "flights", Lines: 20_000, Stored: 19_998, Duplicate: 2},
		{Queue: "flights", Lines: 20_000, Duplicate: 20_000}, // the same again: every key is taken
	} {
		if got := decode[importResult](t, s.ok("import", "--queue", "flights", "--speed", "20000", path, "-o", "json")); got != want {
			t.Errorf("imported %+v, want %+v", got, want)
		}
	}
	s.ok("check", "--queue", "flights")
}
