package batch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq/internal/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is where calls go: it doubles numbers, when it is let.
type place struct {
	line  batch.Line[int, int]
	hold  chan struct{} // nil: calls return at once
	mu    sync.Mutex
	calls [][]int
	ends  []error // of the calls' contexts
	busy  int
	peak  int
}

func newPlace() *place {
	p := &place{}
	p.line.Call = p.call
	p.line.MaxItems, p.line.MaxBytes = 5, 100
	p.line.Size = func(item *int) int { return *item }
	p.line.Root = context.WithoutCancel
	return p
}

func (p *place) call(ctx context.Context, items []int) []int {
	p.mu.Lock()
	p.busy++
	p.peak = max(p.peak, p.busy)
	p.calls = append(p.calls, items)
	p.mu.Unlock()
	if p.hold != nil {
		select {
		case <-p.hold:
		case <-ctx.Done():
		}
	}
	doubled := make([]int, len(items))
	for i := range items {
		doubled[i] = 2 * items[i]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, ctx.Err())
	p.busy--
	return doubled
}

// answer is what a Do returned.
type answer struct {
	result int
	fate   batch.Fate
	at     time.Time
}

// do calls Do in the background, and returns when it waits.
func (p *place) do(ctx context.Context, item int) <-chan answer {
	answered := make(chan answer, 1)
	go func() {
		result, fate := p.line.Do(ctx, item)
		answered <- answer{result, fate, time.Now()}
	}()
	synctest.Wait()
	return answered
}

func (p *place) want(t *testing.T, calls ...[]int) {
	t.Helper()
	if !slices.EqualFunc(p.calls, calls, slices.Equal[[]int]) {
		t.Errorf("calls with %v, want %v", p.calls, calls)
	}
}

func TestWhatComesDuringACallGoesTogether(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		items []int
		calls [][]int
	}{
		{"one at a time", []int{1}, [][]int{{1}}},
		{"the first goes at once", []int{1, 2, 3}, [][]int{{1}, {2, 3}}},
		{"limit of items", []int{1, 2, 3, 4, 5, 6, 7, 8}, [][]int{{1}, {2, 3, 4, 5, 6}, {7, 8}}},
		{"limit of bytes", []int{1, 60, 40, 1, 99, 2}, [][]int{{1}, {60, 40}, {1, 99}, {2}}},
		{"one that is larger", []int{1, 2, 200, 3}, [][]int{{1}, {2}, {200}, {3}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlace()
				p.hold = make(chan struct{})
				var answers []<-chan answer
				for _, item := range test.items {
					answers = append(answers, p.do(t.Context(), item))
				}
				close(p.hold)
				for i, item := range test.items {
					if a := <-answers[i]; a.result != 2*item || a.fate != batch.Answered {
						t.Errorf("%d: %+v", item, a)
					}
				}
				p.want(t, test.calls...)
				if p.peak != 1 {
					t.Errorf("%d calls at a time", p.peak)
				}
			})
		})
	}
}

func TestWhoLeavesInTimeIsInNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.hold = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		first := p.do(t.Context(), 1)
		var answers []<-chan answer
		for item := 2; item <= 20; item++ {
			if item%2 == 0 {
				answers = append(answers, p.do(ctx, item))
			} else {
				answers = append(answers, p.do(t.Context(), item))
			}
		}
		cancel()
		synctest.Wait()
		for i, a := range answers {
			if i%2 == 0 && (<-a).fate != batch.Withdrawn {
				t.Errorf("item %d is not withdrawn", i+2)
			}
		}
		close(p.hold)
		<-first
		synctest.Wait()
		p.want(t, []int{1}, []int{3, 5, 7, 9, 11}, []int{13, 15, 17, 19})
	})
}

func TestWhoLeavesDuringTheCallDoesNotEndItForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.hold = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		first := p.do(t.Context(), 1)
		leaver, stayer := p.do(ctx, 2), p.do(t.Context(), 3)
		p.hold <- struct{}{}
		<-first
		synctest.Wait()
		cancel()
		if a := <-leaver; a.fate != batch.Left {
			t.Errorf("%+v, want to have left", a)
		}
		p.hold <- struct{}{}
		if a := <-stayer; a.fate != batch.Answered || a.result != 6 {
			t.Errorf("%+v, want a result", a)
		}
		if p.ends[1] != nil {
			t.Errorf("the call ended with %v", p.ends[1])
		}
	})
}

func TestACallEndsWhenAllHaveLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.hold = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		first := p.do(t.Context(), 1)
		a, b := p.do(ctx, 2), p.do(ctx, 3)
		p.hold <- struct{}{}
		<-first
		synctest.Wait()
		cancel()
		if a, b := <-a, <-b; a.fate != batch.Left || b.fate != batch.Left {
			t.Errorf("%+v, %+v, want to have left", a, b)
		}
		synctest.Wait()
		if len(p.ends) != 2 || !errors.Is(p.ends[1], context.Canceled) {
			t.Errorf("the calls ended with %v", p.ends)
		}
		close(p.hold)
		if a := <-p.do(t.Context(), 4); a.result != 8 {
			t.Errorf("the line is stuck: %+v", a)
		}
	})
}

func TestACallEndsWhenNobodyWouldWaitLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.hold = make(chan struct{})
		began := time.Now()
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		later, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		first := p.do(t.Context(), 1)
		a, b := p.do(soon, 2), p.do(later, 3)
		p.hold <- struct{}{}
		<-first
		if a := <-a; a.fate != batch.Left || a.at.Sub(began) != time.Second {
			t.Errorf("%+v, want to have left after 1 s", a)
		}
		if b := <-b; b.at.Sub(began) != 3*time.Second {
			t.Errorf("%+v, want to have left after 3 s", b)
		}
		synctest.Wait()
		if !errors.Is(p.ends[1], context.DeadlineExceeded) && !errors.Is(p.ends[1], context.Canceled) {
			t.Errorf("the call ended with %v", p.ends[1])
		}
	})
}

func TestStart_ResultsArriveInTheOrderOfItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.hold = make(chan struct{})
		var running sync.WaitGroup
		p.line.Go = running.Go
		var done []int
		p.line.Done = func(items, results []int) {
			for i, item := range items {
				if results[i] != 2*item {
					t.Errorf("item %d has the result %d", item, results[i])
				}
			}
			done = append(done, results...)
		}
		for item := 1; item <= 8; item++ {
			p.line.Start(item)
			if item == 1 {
				synctest.Wait()
			}
		}
		waiter := p.do(t.Context(), 9)
		close(p.hold)
		running.Wait()
		if a := <-waiter; a.result != 18 {
			t.Errorf("%+v", a)
		}
		if !slices.Equal(done, []int{2, 4, 6, 8, 10, 12, 14, 16}) {
			t.Errorf("results %v", done)
		}
		p.want(t, []int{1}, []int{2, 3, 4, 5, 6}, []int{7, 8, 9})
	})
}

func TestStartAll_SharesCallsAsFarAsTheyFit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		items []int // together
		alone []int // afterwards
		last  int   // awaited
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
				p := newPlace()
				p.hold = make(chan struct{})
				var running sync.WaitGroup
				p.line.Go = running.Go
				var done []int
				p.line.Done = func(items, results []int) {
					for i, item := range items {
						if results[i] != 2*item {
							t.Errorf("item %d has the result %d", item, results[i])
						}
					}
					done = append(done, items...)
				}
				p.line.Start(1)
				synctest.Wait()
				p.line.StartAll(test.items)
				for _, item := range test.alone {
					p.line.Start(item)
				}
				waiter := p.do(t.Context(), test.last)
				close(p.hold)
				running.Wait()
				if a := <-waiter; a.result != 2*test.last {
					t.Errorf("%+v", a)
				}
				if want := slices.Concat([]int{1}, test.items, test.alone); !slices.Equal(done, want) {
					t.Errorf("done: %v, want %v", done, want)
				}
				p.want(t, test.calls...)
			})
		})
	}
}

func TestThoseWhoComeAndGoCostNoMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.hold = make(chan struct{})
		first := p.do(t.Context(), 1)
		for range 1000 {
			ctx, cancel := context.WithCancel(t.Context())
			waiter := p.do(ctx, 2)
			cancel()
			if a := <-waiter; a.fate != batch.Withdrawn {
				t.Fatalf("%+v", a)
			}
		}
		if n := p.line.Held(); n > 1 {
			t.Errorf("%d wait, though all have left", n)
		}
		close(p.hold)
		<-first
	})
}

func TestACrowdGetsItsOwnResults(t *testing.T) {
	t.Parallel()
	p := newPlace()
	var crowd sync.WaitGroup
	for g := range 50 {
		crowd.Go(func() {
			for i := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%10 == 0 {
					go cancel()
				}
				item := g*1000 + i
				if result, fate := p.line.Do(ctx, item); fate == batch.Answered && result != 2*item {
					t.Errorf("%d: got %d", item, result)
				} else if fate != batch.Answered && ctx.Err() == nil {
					t.Errorf("%d: no answer", item)
				}
				cancel()
			}
		})
	}
	crowd.Wait()
	seen := map[int]bool{}
	last := map[int]int{}
	for _, items := range p.calls {
		for _, item := range items {
			if seen[item] || item%1000 < last[item/1000] {
				t.Fatalf("%d twice, or out of order", item)
			}
			seen[item], last[item/1000] = true, item%1000
		}
	}
	if p.peak != 1 {
		t.Errorf("%d calls at a time", p.peak)
	}
}

func TestSeveralCallsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.line.AtOnce = 3
		p.hold = make(chan struct{})
		var answers []<-chan answer
		for item := 1; item <= 9; item++ {
			answers = append(answers, p.do(t.Context(), item))
		}
		if n := p.line.Waiting(); n != 6 {
			t.Errorf("%d wait, want all but 3", n)
		}
		p.want(t, []int{1}, []int{2}, []int{3})
		p.hold <- struct{}{}
		synctest.Wait()
		p.want(t, []int{1}, []int{2}, []int{3}, []int{4, 5, 6, 7, 8})
		p.hold <- struct{}{}
		synctest.Wait()
		p.want(t, []int{1}, []int{2}, []int{3}, []int{4, 5, 6, 7, 8}, []int{9})
		close(p.hold)
		for i, a := range answers {
			if a := <-a; a.result != 2*(i+1) {
				t.Errorf("%d: %+v", i+1, a)
			}
		}
		if p.peak != 3 {
			t.Errorf("%d calls at a time, want 3", p.peak)
		}
	})
}

// Those who leave one of several calls end only that one.
func TestSeveralCallsEndEachByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.line.AtOnce, p.line.MaxItems = 2, 2
		p.hold = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		first, second := p.do(t.Context(), 1), p.do(t.Context(), 2)
		a, b := p.do(ctx, 3), p.do(ctx, 4)
		c, d := p.do(ctx, 5), p.do(t.Context(), 6)
		p.hold <- struct{}{}
		p.hold <- struct{}{}
		<-first
		<-second
		synctest.Wait()
		cancel()
		for _, leaver := range []<-chan answer{a, b, c} {
			if a := <-leaver; a.fate != batch.Left {
				t.Errorf("%+v, want to have left", a)
			}
		}
		synctest.Wait()
		if len(p.ends) != 3 || !errors.Is(p.ends[2], context.Canceled) {
			t.Errorf("the calls ended with %v, want the third one cancelled", p.ends)
		}
		p.hold <- struct{}{}
		if a := <-d; a.fate != batch.Answered || a.result != 12 {
			t.Errorf("%+v, want a result", a)
		}
	})
}

func TestACrowdWithSeveralCallsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace()
	p.line.AtOnce = 3
	var crowd sync.WaitGroup
	for g := range 50 {
		crowd.Go(func() {
			for i := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%10 == 0 {
					go cancel()
				}
				item := g*1000 + i
				result, fate := p.line.Do(ctx, item)
				if fate == batch.Answered && result != 2*item || fate != batch.Answered && ctx.Err() == nil {
					t.Errorf("%d: got %d, fate %d", item, result, fate)
				}
				cancel()
			}
		})
	}
	crowd.Wait()
	seen := map[int]bool{}
	for _, items := range p.calls {
		for _, item := range items {
			if seen[item] {
				t.Fatalf("%d twice", item)
			}
			seen[item] = true
		}
	}
	if p.peak > 3 {
		t.Errorf("%d calls at a time", p.peak)
	}
}

func TestLine_StalledCallIsOvertaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const patience = 100 * time.Millisecond
		p := newPlace()
		p.line.Patience = patience
		p.hold = make(chan struct{})
		start := time.Now()
		var answers []<-chan answer
		for item := 1; item <= 8; item++ { // each comes when the one before is stalled
			answers = append(answers, p.do(t.Context(), item))
			timer := time.NewTimer(patience)
			<-timer.C
			synctest.Wait()
		}
		p.want(t, []int{1}, []int{2}, []int{3}, []int{4}) // no more than three beyond the one that counts
		if took := time.Since(start); took != 8*patience {
			t.Errorf("took %s", took)
		}
		close(p.hold)
		for i, a := range answers {
			if got := <-a; got.result != 2*(i+1) || got.fate != batch.Answered {
				t.Errorf("item %d: %+v", i+1, got)
			}
		}
		p.hold, p.peak = make(chan struct{}), 0
		again := []<-chan answer{p.do(t.Context(), 1), p.do(t.Context(), 2), p.do(t.Context(), 3)}
		if p.busy != 1 {
			t.Errorf("%d calls under way when nothing is stalled any more, want 1", p.busy)
		}
		close(p.hold)
		for _, a := range again {
			<-a
		}
	})
}
