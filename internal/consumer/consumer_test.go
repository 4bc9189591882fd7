package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCapacity_FollowsTheMeanTime(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		prefetch int
		busy     []time.Duration
		want     int // deliveries that may be held by 10 workers
	}{
		{"nothing measured", 500, nil, 10},
		{"slower than soon", 500, []time.Duration{2 * time.Second}, 10},
		{"a second each", 500, []time.Duration{time.Second}, 11},
		{"ten milliseconds each", 500, []time.Duration{10 * time.Millisecond}, 110},
		{"capped", 500, []time.Duration{time.Microsecond}, 510},
		{"too fast to measure", 500, []time.Duration{0}, 510},
		{"no prefetch", 0, []time.Duration{time.Microsecond}, 10},
		{"became slow", 500, mixed(time.Millisecond, 1, time.Second, 50), 11},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCapacity(&Config{Concurrency: 10, Prefetch: test.prefetch, PrefetchBytes: 1, Partitions: 1})
			for _, d := range test.busy {
				if take(t.Context(), c, 0, 1) != 1 {
					t.Fatal("no permit")
				}
				c.claimed(0, 1, 0, false)
				c.worked(d)
				c.give(1)
			}
			if got := take(t.Context(), c, 0, 10_000); got != test.want {
				t.Errorf("%d permits, want %d", got, test.want)
			}
		})
	}
}

func TestLapse_LateLooksLowerTheWorkersInUse(t *testing.T) {
	t.Parallel()
	const lease, late, workers = 3 * time.Second, 600 * time.Millisecond, 1000
	config := &Config{Concurrency: workers, Partitions: 1, Lease: lease, PrefetchBytes: 1}
	floor := min(workers, runtime.GOMAXPROCS(0))
	tests := []struct {
		name  string
		looks []time.Duration
		want  int
	}{
		{"punctual", make([]time.Duration, 20), workers},
		{"suspended once", []time.Duration{0, time.Hour, 0}, workers},
		{"suspended now and then", slices.Concat([]time.Duration{late}, make([]time.Duration, calm), []time.Duration{late}), workers},
		{"twice", []time.Duration{late, 0, late}, workers / 2},
		{"always", slices.Repeat([]time.Duration{late}, 50), floor},
		{"punctual again", slices.Concat([]time.Duration{late, late}, make([]time.Duration, calm)), workers/2 + workers/8},
		{"punctual for long", slices.Concat(slices.Repeat([]time.Duration{late}, 50), make([]time.Duration, 100*calm)), workers},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSettler(config)
			l := newLapse(newWork(config, newHoldings(), s))
			for _, late := range test.looks {
				l.judgeLoad(late)
			}
			if got := take(t.Context(), s.capacity, 0, 10_000); got != test.want {
				t.Errorf("%d permits, want %d", got, test.want)
			}
		})
	}
}

// take waits for permits as a fetcher does.
func take(ctx context.Context, c *capacity, partition, most int) int {
	w, n := c.ask(partition, most)
	if w == nil {
		return n
	}
	select {
	case n := <-w.granted:
		return n
	case <-ctx.Done():
		c.leave(w)
		return 0
	}
}

// mixed returns a, n times, then b, m times.
func mixed(a time.Duration, n int, b time.Duration, m int) []time.Duration {
	var all []time.Duration
	for range n {
		all = append(all, a)
	}
	for range m {
		all = append(all, b)
	}
	return all
}

func TestCapacity_ServesFetchersRoundRobin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCapacity(&Config{Concurrency: 4, Partitions: 2})
		if a, b := take(t.Context(), c, 0, store.MaxBatch), take(t.Context(), c, 1, store.MaxBatch); a != 2 || b != 2 {
			t.Fatalf("%d and %d permits, want half each", a, b)
		}
		c.claimed(0, 2, 0, false)
		c.claimed(1, 2, 0, false)
		ctx, cancel := context.WithCancel(t.Context())
		order := make(chan string, 3)
		for _, name := range []string{"first", "second"} {
			go func() {
				c.claimed(0, take(t.Context(), c, 0, store.MaxBatch), 0, false)
				order <- name
			}()
			synctest.Wait()
		}
		go func() { order <- fmt.Sprint("left with ", take(ctx, c, 0, store.MaxBatch)) }()
		synctest.Wait()
		c.give(1)
		if got := <-order; got != "first" {
			t.Errorf("%s got the permit", got)
		}
		cancel()
		if got := <-order; got != "left with 0" {
			t.Errorf("%s", got)
		}
		c.give(1)
		if got := <-order; got != "second" {
			t.Errorf("%s got the permit", got)
		}
		c.give(2)
		if c.used != 2 {
			t.Errorf("%d permits in use, want 2", c.used)
		}
	})
}

func TestCapacity_GrantToAFetcherThatLeavesIsNotLost(t *testing.T) {
	t.Parallel()
	c := newCapacity(&Config{Concurrency: 4, Partitions: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // often enough that both ways out of take occur
		if n := take(ctx, c, 0, 3); n > 0 {
			c.claimed(0, 0, 0, false)
		}
	}
	if n := take(t.Context(), c, 0, store.MaxBatch); n != 4 {
		t.Errorf("%d permits left of 4", n)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "short", strings.Repeat("a", 1024), strings.Repeat("a", 1025), strings.Repeat("é", 600), strings.Repeat("€", 500), "a" + strings.Repeat("🦆", 300), "bad \xff byte", strings.Repeat("\xff", 1024)} {
		got := cut(text)
		if len(got) > store.MaxFailure || !utf8.ValidString(got) {
			t.Errorf("%d bytes became %d, valid %t", len(text), len(got), utf8.ValidString(got))
		}
		if utf8.ValidString(text) && (!strings.HasPrefix(text, got) || len(text)-len(got) > max(0, len(text)-store.MaxFailure)+3) {
			t.Errorf("%.20q... was cut to %d bytes", text, len(got))
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	fault := errors.New("no luck")
	tests := []struct {
		name     string
		err      error
		stopping bool
		want     Verdict
	}{
		{"nil", nil, false, Verdict{Verdict: store.Ack}},
		{"nil while stopping", nil, true, Verdict{Verdict: store.Ack}},
		{"error", fault, false, Verdict{Verdict: store.Nack, Delay: 1500, Failure: "no luck"}},
		{"error while stopping", fault, true, Verdict{Verdict: store.Release}},
		{"retry", &RetryError{Delay: 7, Err: fault}, false, Verdict{Verdict: store.Nack, Delay: 7, Failure: "no luck"}},
		{"retry beyond all limits", &RetryError{Delay: 1 << 62}, false, Verdict{Verdict: store.Nack, Delay: store.MaxDelay, Failure: "retry"}},
		{"retry while stopping", &RetryError{Err: fault}, true, Verdict{Verdict: store.Release}},
		{"reject while stopping", &RejectError{Err: fault}, true, Verdict{Verdict: store.Reject, Failure: "no luck"}},
		{"reject without a reason", &RejectError{}, false, Verdict{Verdict: store.Reject, Failure: "rejected"}},
		{"snooze", &SnoozeError{Delay: 7, Reason: "busy"}, false, Verdict{Verdict: store.Snooze, Delay: 7, Failure: "snoozed: busy"}},
		{"snooze while stopping", &SnoozeError{Delay: 7}, true, Verdict{Verdict: store.Snooze, Delay: 7, Failure: "snoozed"}},
		{"snooze beyond all limits, wrapped", fmt.Errorf("x: %w", &SnoozeError{Delay: 1 << 62}), false, Verdict{Verdict: store.Snooze, Delay: store.MaxDelay, Failure: "snoozed"}},
		{"a rejection wins over a snooze", &RejectError{Err: &SnoozeError{Reason: "busy"}}, false, Verdict{Verdict: store.Reject, Failure: "snoozed: busy"}},
		{"drop", &DropError{Err: fault}, false, Verdict{Verdict: store.Ack}},
		{"a rejection inside a retry wins", &RetryError{Err: &RejectError{Err: fault}}, false, Verdict{Verdict: store.Reject, Failure: "no luck"}},
		{"an error that panics", panicky{}, false, Verdict{Verdict: store.Nack, Delay: 1500, Failure: "%!v(PANIC=Error method: oh no)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Judge(test.err, test.stopping, func() time.Duration { return 1500 * time.Millisecond })
			if got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

type panicky struct{}

func (panicky) Error() string { panic("oh no") }

func TestBackoff_ResultOfTheUserIsLimited(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		backoff func(*Held, error) time.Duration
		want    time.Duration
	}{
		{"negative", func(*Held, error) time.Duration { return -1 }, 0},
		{"beyond all limits", func(*Held, error) time.Duration { return 1 << 62 }, store.MaxDelay * time.Millisecond},
		{"panics", func(*Held, error) time.Duration { panic("oh no") }, time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := &work{config: &Config{Backoff: test.backoff, Log: slog.New(slog.DiscardHandler)}}
			if got := w.backoff(&Held{}, nil); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestHoldings_RemoveTwiceAndInAnyOrder(t *testing.T) {
	t.Parallel()
	s, all := newHoldings(), make([]*Held, 7)
	for i := range all {
		all[i] = &Held{}
	}
	s.add(all[:5])
	s.remove(all[0])
	s.remove(all[0])
	s.add(all[5:])
	s.removeSettled([]settling{{held: all[6]}, {held: all[3]}, {held: all[0]}})
	left := s.all()
	if len(left) != 4 {
		t.Fatalf("%d left, want 4", len(left))
	}
	for _, i := range []int{1, 2, 4, 5} {
		if !slices.Contains(left, all[i]) {
			t.Errorf("%d is not held any more", i)
		}
		s.remove(all[i])
	}
	if left := s.all(); len(left) != 0 {
		t.Errorf("%d left, want none", len(left))
	}
}
