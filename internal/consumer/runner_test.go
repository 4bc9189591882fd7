package consumer

import (
	"testing"
	"testing/synctest"
	"time"
)

// runs records when the function of a runner begins and what it returns.
type runs struct {
	*runner
	began time.Time
	at    []time.Duration
	takes time.Duration
	next  time.Duration
	now   int // functions that run
	most  int
	over  int // calls of ended
}

func newRuns(next time.Duration) *runs {
	s := &runs{began: time.Now(), next: next}
	s.runner = newRunner(func() time.Duration {
		s.at = append(s.at, time.Since(s.began))
		s.now++
		s.most = max(s.most, s.now)
		pass(s.takes)
		s.now--
		return s.next
	}, func() { s.over++ })
	return s
}

func TestRunner(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		name string
		next time.Duration
		does func(*runs)
		want []time.Duration
	}{
		{"dormant at first", 5 * ms, func(*runs) {}, nil},
		{"sleeps as long as the function says", 5 * ms, func(s *runs) { s.ring(); pass(12 * ms) }, []time.Duration{0, 5 * ms, 10 * ms}},
		{"dormant after forever", forever, func(s *runs) { s.ring(); pass(time.Hour) }, []time.Duration{0}},
		{"a ring ends a sleep", 5 * ms, func(s *runs) { s.ring(); pass(2 * ms); s.ring(); pass(6 * ms) }, []time.Duration{0, 2 * ms, 7 * ms}},
		{"a ring wakes a dormant one", forever, func(s *runs) { s.ring(); pass(2 * ms); s.ring(); pass(ms) }, []time.Duration{0, 2 * ms}},
		{"a ring while it runs makes it run again", forever, func(s *runs) {
			s.takes = 3 * ms
			s.ring()
			pass(ms)
			s.ring()
			s.ring()
			pass(10 * ms)
		}, []time.Duration{0, 3 * ms}},
		{"armed when dormant", forever, func(s *runs) { s.arm(4 * ms); s.arm(ms); pass(10 * ms) }, []time.Duration{4 * ms}},
		{"armed again after forever", forever, func(s *runs) { s.arm(4 * ms); pass(10 * ms); s.arm(4 * ms); pass(10 * ms) }, []time.Duration{4 * ms, 14 * ms}},
		{"armed when it sleeps", 5 * ms, func(s *runs) { s.ring(); pass(ms); s.arm(ms); pass(5 * ms) }, []time.Duration{0, 5 * ms}},
		{"armed while it runs", forever, func(s *runs) {
			s.takes = 3 * ms
			s.ring()
			pass(ms)
			s.arm(time.Hour)
			pass(10 * ms)
		}, []time.Duration{0, 3 * ms}},
		{"not after its end", 5 * ms, func(s *runs) {
			s.ring()
			pass(ms)
			s.end()
			s.ring()
			s.arm(ms)
			pass(10 * ms)
		}, []time.Duration{0}},
		{"not again when it ends while it runs", 5 * ms, func(s *runs) {
			s.takes = 3 * ms
			s.ring()
			pass(ms)
			s.ring()
			s.end()
			pass(10 * ms)
		}, []time.Duration{0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newRuns(test.next)
				test.does(s)
				s.end()
				s.end()
				pass(s.takes)
				synctest.Wait()
				if len(s.at) != len(test.want) {
					t.Fatalf("runs at %s, want %s", s.at, test.want)
				}
				for i, at := range test.want {
					if s.at[i] != at {
						t.Errorf("runs at %s, want %s", s.at, test.want)
					}
				}
				if s.over != 1 || s.most > 1 {
					t.Errorf("ended %d times, %d runs at a time, want 1 and at most 1", s.over, s.most)
				}
			})
		})
	}
}

// What a runner reports as ended does not run any more.
func TestRunners_EndWaitsForTheLastRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group runners
		done := false
		group.add(func() time.Duration { return forever })
		group.add(func() time.Duration {
			pass(time.Second)
			done = true
			return forever
		}).ring()
		synctest.Wait()
		group.end()
		if !done {
			t.Error("end did not wait")
		}
	})
}
