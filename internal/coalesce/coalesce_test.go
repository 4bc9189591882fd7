package coalesce_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq/internal/coalesce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server doubles the numbers that a Coalescer calls it with.
type server struct {
	*coalesce.Coalescer[int, int]
	hold  chan struct{} // each call waits for a value; nil: calls return at once
	mu    sync.Mutex
	calls [][]int
	ends  []error // of the calls' contexts
	busy  int
	peak  int
}

type config = coalesce.Config[int, int]

// newServer returns a server behind a Coalescer with the configuration that change makes,
// which may be nil, of 5 items and 100 bytes a call. An item's number is its size.
func newServer(change func(*config)) *server {
	s := &server{}
	c := config{
		Call: s.call, MaxItems: 5, MaxBytes: 100, Size: func(item *int) int { return *item }, Context: context.WithoutCancel,
	}
	if change != nil {
		change(&c)
	}
	s.Coalescer = coalesce.New(c)
	return s
}

// newHeldServer returns a server whose calls wait for hold.
func newHeldServer(change func(*config)) *server {
	s := newServer(change)
	s.hold = make(chan struct{})
	return s
}

func (s *server) call(ctx context.Context, items []int) []int {
	s.mu.Lock()
	s.busy++
	s.peak = max(s.peak, s.busy)
	s.calls = append(s.calls, items)
	s.mu.Unlock()
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
		}
	}
	doubled := make([]int, len(items))
	for i := range items {
		doubled[i] = 2 * items[i]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, ctx.Err())
	s.busy--
	return doubled
}

// answer has the results of a Do.
type answer struct {
	result int
	status coalesce.Status
	at     time.Time
}

// do calls Do in the background, and returns when it waits.
func (s *server) do(ctx context.Context, item int) <-chan answer {
	answered := make(chan answer, 1)
	go func() {
		result, status := s.Do(ctx, &item)
		answered <- answer{result, status, time.Now()}
	}()
	synctest.Wait()
	return answered
}

func (s *server) want(t *testing.T, calls ...[]int) {
	t.Helper()
	if !slices.EqualFunc(s.calls, calls, slices.Equal[[]int]) {
		t.Errorf("calls with %v, want %v", s.calls, calls)
	}
}

func TestDo_ItemsThatArriveDuringACallShareTheNext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		items []int
		calls [][]int
	}{
		{"a single item", []int{1}, [][]int{{1}}},
		{"the first does not wait", []int{1, 2, 3}, [][]int{{1}, {2, 3}}},
		{"limit of items", []int{1, 2, 3, 4, 5, 6, 7, 8}, [][]int{{1}, {2, 3, 4, 5, 6}, {7, 8}}},
		{"limit of bytes", []int{1, 60, 40, 1, 99, 2}, [][]int{{1}, {60, 40}, {1, 99}, {2}}},
		{"an item larger than the limit", []int{1, 2, 200, 3}, [][]int{{1}, {2}, {200}, {3}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newHeldServer(nil)
				var answers []<-chan answer
				for _, item := range test.items {
					answers = append(answers, s.do(t.Context(), item))
				}
				close(s.hold)
				for i, item := range test.items {
					if a := <-answers[i]; a.result != 2*item || a.status != coalesce.Completed {
						t.Errorf("%d: %+v", item, a)
					}
				}
				s.want(t, test.calls...)
				if s.peak != 1 {
					t.Errorf("%d calls at a time", s.peak)
				}
			})
		})
	}
}

func TestDo_CallerThatLeavesBeforeTheCallIsNotInIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldServer(nil)
		ctx, cancel := context.WithCancel(t.Context())
		first := s.do(t.Context(), 1)
		var answers []<-chan answer
		for item := 2; item <= 20; item++ {
			if item%2 == 0 {
				answers = append(answers, s.do(ctx, item))
			} else {
				answers = append(answers, s.do(t.Context(), item))
			}
		}
		cancel()
		synctest.Wait()
		for i, a := range answers {
			if i%2 == 0 && (<-a).status != coalesce.NotCalled {
				t.Errorf("item %d was called", i+2)
			}
		}
		close(s.hold)
		<-first
		synctest.Wait()
		s.want(t, []int{1}, []int{3, 5, 7, 9, 11}, []int{13, 15, 17, 19})
	})
}

func TestDo_CallerThatLeavesDuringTheCallDoesNotEndItForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldServer(nil)
		ctx, cancel := context.WithCancel(t.Context())
		first := s.do(t.Context(), 1)
		leaver, stayer := s.do(ctx, 2), s.do(t.Context(), 3)
		s.hold <- struct{}{}
		<-first
		synctest.Wait()
		cancel()
		if a := <-leaver; a.status != coalesce.Abandoned {
			t.Errorf("%+v, want a caller that left", a)
		}
		s.hold <- struct{}{}
		if a := <-stayer; a.status != coalesce.Completed || a.result != 6 {
			t.Errorf("%+v, want a result", a)
		}
		if s.ends[1] != nil {
			t.Errorf("the call ended with %v", s.ends[1])
		}
	})
}

func TestDo_CallIsCancelledWhenAllCallersHaveLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldServer(nil)
		ctx, cancel := context.WithCancel(t.Context())
		first := s.do(t.Context(), 1)
		a, b := s.do(ctx, 2), s.do(ctx, 3)
		s.hold <- struct{}{}
		<-first
		synctest.Wait()
		cancel()
		if a, b := <-a, <-b; a.status != coalesce.Abandoned || b.status != coalesce.Abandoned {
			t.Errorf("%+v, %+v, want a caller that left", a, b)
		}
		synctest.Wait()
		if len(s.ends) != 2 || !errors.Is(s.ends[1], context.Canceled) {
			t.Errorf("the calls ended with %v", s.ends)
		}
		close(s.hold)
		if a := <-s.do(t.Context(), 4); a.result != 8 {
			t.Errorf("the next call is not made: %+v", a)
		}
	})
}

func TestDo_CallEndsAtTheLatestDeadlineOfItsCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldServer(nil)
		began := time.Now()
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		later, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		first := s.do(t.Context(), 1)
		a, b := s.do(soon, 2), s.do(later, 3)
		s.hold <- struct{}{}
		<-first
		if a := <-a; a.status != coalesce.Abandoned || a.at.Sub(began) != time.Second {
			t.Errorf("%+v, want a caller that left after 1 s", a)
		}
		if b := <-b; b.at.Sub(began) != 3*time.Second {
			t.Errorf("%+v, want a caller that left after 3 s", b)
		}
		synctest.Wait()
		if !errors.Is(s.ends[1], context.DeadlineExceeded) && !errors.Is(s.ends[1], context.Canceled) {
			t.Errorf("the call ended with %v", s.ends[1])
		}
	})
}

// started collects the items that a server's Done is called with.
type started struct {
	items   []int
	running sync.WaitGroup // the goroutines that call Done
}

// newStartServer returns a held server, and the items that Done gets. Done fails t if an
// item has the result of another.
func newStartServer(t *testing.T) (*server, *started) {
	done := &started{}
	return newHeldServer(func(c *config) {
		c.Go = done.running.Go
		c.Done = func(items, results []int) {
			for i, item := range items {
				if results[i] != 2*item {
					t.Errorf("item %d has the result %d", item, results[i])
				}
			}
			done.items = append(done.items, items...)
		}
	}), done
}

func (d *started) want(t *testing.T, items ...int) {
	t.Helper()
	d.running.Wait()
	if !slices.Equal(d.items, items) {
		t.Errorf("done: %v, want %v", d.items, items)
	}
}

func TestStart_ResultsArriveInTheOrderOfItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, done := newStartServer(t)
		for item := 1; item <= 8; item++ {
			s.Start(item)
			if item == 1 {
				synctest.Wait()
			}
		}
		last := s.do(t.Context(), 9)
		close(s.hold)
		if a := <-last; a.result != 18 {
			t.Errorf("%+v", a)
		}
		done.want(t, 1, 2, 3, 4, 5, 6, 7, 8)
		s.want(t, []int{1}, []int{2, 3, 4, 5, 6}, []int{7, 8, 9})
	})
}

func TestStartAll_SharesCallsAsFarAsTheyFit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		all   []int // of StartAll
		each  []int // of Start, afterwards
		last  int   // of Do
		calls [][]int
	}{
		{"one call", []int{2, 3, 4}, nil, 9, [][]int{{1}, {2, 3, 4, 9}}},
		{"as many as fit", []int{2, 3, 4, 5, 6}, []int{7}, 9, [][]int{{1}, {2, 3, 4, 5, 6}, {7, 9}}},
		{"more than fit", []int{2, 3, 4, 5, 6, 7, 8}, []int{9}, 10, [][]int{{1}, {2, 3, 4, 5, 6}, {7, 8, 9, 10}}},
		{"large ones", []int{60, 50, 40, 200, 2}, []int{3}, 4, [][]int{{1}, {60}, {50, 40}, {200}, {2, 3, 4}}},
		{"none", nil, []int{2}, 3, [][]int{{1}, {2, 3}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, done := newStartServer(t)
				s.Start(1)
				synctest.Wait()
				s.StartAll(test.all)
				for _, item := range test.each {
					s.Start(item)
				}
				last := s.do(t.Context(), test.last)
				close(s.hold)
				if a := <-last; a.result != 2*test.last {
					t.Errorf("%+v", a)
				}
				done.want(t, slices.Concat([]int{1}, test.all, test.each)...)
				s.want(t, test.calls...)
			})
		})
	}
}

func TestDo_CallersThatLeaveAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldServer(nil)
		first := s.do(t.Context(), 1)
		for range 1000 {
			ctx, cancel := context.WithCancel(t.Context())
			last := s.do(ctx, 2)
			cancel()
			if a := <-last; a.status != coalesce.NotCalled {
				t.Fatalf("%+v", a)
			}
		}
		if n := s.Len(); n > 1 {
			t.Errorf("%d entries are kept, though all callers have left", n)
		}
		close(s.hold)
		<-first
	})
}

// doMany calls Do from 50 goroutines, 200 times each, of which every tenth leaves at once.
// It fails t if a caller gets the result of another, or an item is in two calls.
func (s *server) doMany(t *testing.T) {
	t.Helper()
	var callers sync.WaitGroup
	for g := range 50 {
		callers.Go(func() {
			for i := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%10 == 0 {
					go cancel()
				}
				item := g*1000 + i
				result, status := s.Do(ctx, &item)
				if status == coalesce.Completed && result != 2*item || status != coalesce.Completed && ctx.Err() == nil {
					t.Errorf("%d: got %d, status %d", item, result, status)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	seen := map[int]bool{}
	for _, item := range slices.Concat(s.calls...) {
		if seen[item] {
			t.Fatalf("%d twice", item)
		}
		seen[item] = true
	}
}

func TestDo_ConcurrentCallersGetTheirOwnResultsInOrder(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	s.doMany(t)
	last := map[int]int{} // by goroutine
	for _, item := range slices.Concat(s.calls...) {
		if item%1000 < last[item/1000] {
			t.Fatalf("%d out of order", item)
		}
		last[item/1000] = item % 1000
	}
	if s.peak != 1 {
		t.Errorf("%d calls at a time", s.peak)
	}
}

func TestMaxInFlight_SeveralCallsAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldServer(func(c *config) { c.MaxInFlight = 3 })
		var answers []<-chan answer
		for item := 1; item <= 9; item++ {
			answers = append(answers, s.do(t.Context(), item))
		}
		if n := s.Waiting(); n != 6 {
			t.Errorf("%d entries wait, want all but 3", n)
		}
		s.want(t, []int{1}, []int{2}, []int{3})
		s.hold <- struct{}{}
		synctest.Wait()
		s.want(t, []int{1}, []int{2}, []int{3}, []int{4, 5, 6, 7, 8})
		s.hold <- struct{}{}
		synctest.Wait()
		s.want(t, []int{1}, []int{2}, []int{3}, []int{4, 5, 6, 7, 8}, []int{9})
		close(s.hold)
		for i, a := range answers {
			if a := <-a; a.result != 2*(i+1) {
				t.Errorf("%d: %+v", i+1, a)
			}
		}
		if s.peak != 3 {
			t.Errorf("%d calls at a time, want 3", s.peak)
		}
	})
}

func TestMaxInFlight_CallersThatLeaveEndOnlyTheirCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldServer(func(c *config) { c.MaxInFlight, c.MaxItems = 2, 2 })
		ctx, cancel := context.WithCancel(t.Context())
		first, second := s.do(t.Context(), 1), s.do(t.Context(), 2)
		a, b := s.do(ctx, 3), s.do(ctx, 4)
		c, d := s.do(ctx, 5), s.do(t.Context(), 6)
		s.hold <- struct{}{}
		s.hold <- struct{}{}
		<-first
		<-second
		synctest.Wait()
		cancel()
		for _, leaver := range []<-chan answer{a, b, c} {
			if a := <-leaver; a.status != coalesce.Abandoned {
				t.Errorf("%+v, want a caller that left", a)
			}
		}
		synctest.Wait()
		if len(s.ends) != 3 || !errors.Is(s.ends[2], context.Canceled) {
			t.Errorf("the calls ended with %v, want the third one cancelled", s.ends)
		}
		s.hold <- struct{}{}
		if a := <-d; a.status != coalesce.Completed || a.result != 12 {
			t.Errorf("%+v, want a result", a)
		}
	})
}

func TestMaxInFlight_ConcurrentCallersGetTheirOwnResults(t *testing.T) {
	t.Parallel()
	s := newServer(func(c *config) { c.MaxInFlight = 3 })
	s.doMany(t)
	if s.peak > 3 {
		t.Errorf("%d calls at a time", s.peak)
	}
}

func TestStallAfter_ItemsDoNotWaitForAStalledCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const stallAfter = 100 * time.Millisecond
		s := newHeldServer(func(c *config) { c.StallAfter = stallAfter })
		start := time.Now()
		var answers []<-chan answer
		for item := 1; item <= 8; item++ { // each item arrives when the previous call is stalled
			answers = append(answers, s.do(t.Context(), item))
			timer := time.NewTimer(stallAfter)
			<-timer.C
			synctest.Wait()
		}
		s.want(t, []int{1}, []int{2}, []int{3}, []int{4}) // the first call, and three stalled ones
		if took := time.Since(start); took != 8*stallAfter {
			t.Errorf("took %s", took)
		}
		close(s.hold)
		for i, a := range answers {
			if got := <-a; got.result != 2*(i+1) || got.status != coalesce.Completed {
				t.Errorf("item %d: %+v", i+1, got)
			}
		}
		s.hold, s.peak = make(chan struct{}), 0
		again := []<-chan answer{s.do(t.Context(), 1), s.do(t.Context(), 2), s.do(t.Context(), 3)}
		if s.busy != 1 {
			t.Errorf("%d calls in flight when none is stalled any more, want 1", s.busy)
		}
		close(s.hold)
		for _, a := range again {
			<-a
		}
	})
}

func TestDo_TimeoutEndsTheWaitOfCallersWithoutDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const timeout = 32 * time.Second
		s := newHeldServer(func(c *config) { c.Timeout = timeout })
		ctx := context.WithoutCancel(t.Context())
		withDeadline, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		own := s.do(ctx, 1)
		start := time.Now()
		called, waiting := s.do(ctx, 2), s.do(withDeadline, 3)
		s.hold <- struct{}{}
		if a := <-own; a.status != coalesce.Completed {
			t.Errorf("the caller that made its call itself: %+v", a)
		}
		synctest.Wait()
		timer := time.NewTimer(timeout/2 + timeout/64)
		<-timer.C
		later := time.Now()
		pending := s.do(ctx, 4)
		if a := <-called; a.status != coalesce.Abandoned || a.at.Sub(start) != timeout {
			t.Errorf("the caller whose call is in flight: %+v after %s", a, a.at.Sub(start))
		}
		if a := <-pending; a.status != coalesce.NotCalled || a.at.Sub(later) < timeout || a.at.Sub(later) > timeout+timeout/32 {
			t.Errorf("the caller that waits for a call: %+v after %s", a, a.at.Sub(later))
		}
		if n := s.Waiting(); n != 0 {
			t.Errorf("%d wait for a call", n)
		}
		s.hold <- struct{}{}
		if a := <-waiting; a.status != coalesce.Completed || a.result != 6 {
			t.Errorf("the caller with a deadline: %+v", a)
		}
		synctest.Wait()
		s.want(t, []int{1}, []int{2, 3})
	})
}

// Entries are reused. Timeout applies to callers of Do, not to items of Start.
func TestStart_TimeoutDoesNotEndItsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const timeout = 32 * time.Second
		var done []int
		s := newHeldServer(func(c *config) {
			c.Timeout, c.Done = timeout, func(_, results []int) { done = append(done, results...) }
		})
		ctx := context.WithoutCancel(t.Context())
		answers := []<-chan answer{s.do(ctx, 1), s.do(ctx, 2), s.do(ctx, 3)}
		s.hold <- struct{}{}
		s.hold <- struct{}{}
		for _, a := range answers {
			<-a
		}
		s.Start(4)
		s.Start(5)
		if a := <-s.do(ctx, 6); a.status == coalesce.Completed {
			t.Errorf("the caller of Do: %+v", a)
		}
		close(s.hold)
		synctest.Wait()
		if !slices.Equal(done, []int{8, 10}) {
			t.Errorf("results %v, want 8, 10", done)
		}
		for i, err := range s.ends {
			if err != nil {
				t.Errorf("call %d ended with %v", i, err)
			}
		}
	})
}

func TestNew_InvalidConfigPanics(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*config){
		"no call":              func(c *config) { c.Call = nil },
		"no size":              func(c *config) { c.Size = nil },
		"no context":           func(c *config) { c.Context = nil },
		"no items":             func(c *config) { c.MaxItems = 0 },
		"no bytes":             func(c *config) { c.MaxBytes = 0 },
		"negative in flight":   func(c *config) { c.MaxInFlight = -1 },
		"negative stall after": func(c *config) { c.StallAfter = -1 },
		"negative timeout":     func(c *config) { c.Timeout = -1 },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			newServer(change)
		})
	}
}
