package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
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
		{"capped after many failures", time.Second, time.Hour, 1 << 40, time.Hour},
		{"no failure", time.Second, time.Hour, 0, time.Second},
		{"base above the cap", time.Hour, time.Second, 3, time.Second},
		{"none", 0, time.Hour, 1 << 40, 0},
		{"negative", -time.Second, time.Hour, 5, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			next, longest := dueq.Backoff(test.base, test.most), time.Duration(0)
			for range 2000 {
				d := next(&dueq.Delivery{Failures: test.failures - 1}, nil)
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

// defaultAttempts is Message.MaxAttempts of a message that has none.
const defaultAttempts = 25

func TestDefaultBackoff_IsWithinTenPercentOfItsTable(t *testing.T) {
	t.Parallel()
	for failures := range 1001 {
		n := min(failures+1, 25)
		want := min(time.Duration(n*n*n*n+15)*time.Second, 4*24*time.Hour)
		least, most := want, time.Duration(0)
		for range 200 {
			d := dueq.DefaultBackoff(&dueq.Delivery{Failures: failures}, nil)
			least, most = min(least, d), max(most, d)
		}
		if least < want-want/10 || most > want+want/10 {
			t.Errorf("after failure %d: %s to %s, want %s and a tenth", failures+1, least, most, want)
		}
		if most-least < want/20 {
			t.Errorf("after failure %d: 200 waits from %s to %s, want them spread", failures+1, least, most)
		}
	}
}

func TestDefaultBackoff_DocumentHasItsTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/RETRIES.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	total := time.Duration(0)
	for n := range defaultAttempts - 1 {
		total += middle(n)
		fmt.Fprintf(&want, "| %d | %s | %s |\n", n+1, span(middle(n)), span(total))
	}
	fmt.Fprintf(&want, "| %d | dead | %s |\n", defaultAttempts, span(total))
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("docs/RETRIES.md has not the table of DefaultBackoff:\n%s", want.String())
	}
}

// middle returns the mean wait of DefaultBackoff for a delivery that has failed before, failures times.
func middle(failures int) time.Duration {
	const tries = 4000
	sum := time.Duration(0)
	for range tries {
		sum += dueq.DefaultBackoff(&dueq.Delivery{Failures: failures}, nil)
	}
	n := failures + 1
	want := time.Duration(n*n*n*n+15) * time.Second
	if mean := sum / tries; mean < want-want/100 || mean > want+want/100 {
		return mean // no document states another value
	}
	return want
}

// span writes a duration with its two largest units.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
}

func TestDelivery_LastAttempt(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{MaxAttempts: 3})
		var last []bool
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			last = append(last, d.LastAttempt())
			return errNoLuck
		}, dueq.ConsumeOptions{})
		r.sleep(time.Hour)
		_, err := consumer.end()
		r.must(err)
		if want := "[false false true]"; fmt.Sprint(last) != want {
			r.Errorf("LastAttempt was %v, want %s", last, want)
		}
		if n := r.stats().Dead; n != 1 {
			r.Errorf("%d dead, want 1", n)
		}
	})
}

func TestBackoff_DeliveryCannotBeSettled(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{Body: []byte("b"), Key: "k"})
		var settled error
		var seen dueq.Delivery
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error { return errNoLuck }, dueq.ConsumeOptions{
			Backoff: func(d *dueq.Delivery, _ error) time.Duration {
				settled, seen = d.Ack(r.Context()), *d
				return time.Hour
			},
		})
		r.sleep(time.Minute)
		_, err := consumer.end()
		r.must(err)
		if !errors.Is(settled, dueq.ErrInvalid) {
			r.Errorf("Ack within Backoff: %v, want ErrInvalid", settled)
		}
		if seen.ID != id || seen.Key != "k" || string(seen.Body) != "b" || seen.Attempt != 1 || seen.Failures != 0 {
			r.Errorf("Backoff was passed %+v", seen)
		}
		if m := r.get(id); m.State != dueq.Scheduled || m.Failures != 1 {
			r.Errorf("%+v, want it scheduled after one failure", m)
		}
	})
}

func TestRelease_WithDelayCountsNoFailure(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{MaxAttempts: 1})
		all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		if err := all[0].Release(r.Context(), -time.Second); !errors.Is(err, dueq.ErrInvalid) {
			r.Errorf("negative delay: %v, want ErrInvalid", err)
		}
		r.must(all[0].Release(r.Context(), time.Hour))
		m := r.get(id)
		if m.State != dueq.Scheduled || time.Until(m.At) != time.Hour || m.Failures != 0 {
			r.Errorf("%+v, want it due in an hour without a failure", m)
		}
		r.sleep(time.Hour)
		if n := r.stats().Ready; n != 1 {
			r.Errorf("%d ready after the delay, want 1", n)
		}
	})
}
