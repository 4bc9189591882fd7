package dueq_test

import (
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		base, most time.Duration
		failures   int
		limit      time.Duration
	}{
		{"first", time.Second, time.Hour, 1, time.Second},
		{"second", time.Second, time.Hour, 2, 2 * time.Second},
		{"sixth", time.Second, time.Hour, 6, 32 * time.Second},
		{"capped", time.Second, time.Hour, 13, time.Hour},
		{"capped for ever", time.Second, time.Hour, 1 << 40, time.Hour},
		{"not a count", time.Second, time.Hour, -1, time.Second},
		{"base above the cap", time.Hour, time.Second, 3, time.Second},
		{"none", 0, time.Hour, 1 << 40, 0},
		{"negative", -time.Second, time.Hour, 5, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			next, longest := dueq.Backoff(test.base, test.most), time.Duration(0)
			for range 2000 {
				d := next(test.failures)
				if d < 0 || d > test.limit {
					t.Fatalf("%s, want 0 to %s", d, test.limit)
				}
				longest = max(longest, d)
			}
			if longest < test.limit*9/10 {
				t.Errorf("at most %s of 2000, want them to spread up to %s", longest, test.limit)
			}
		})
	}
}
