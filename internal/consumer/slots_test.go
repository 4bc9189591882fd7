package consumer

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sharer is a queue that always has messages due.
type sharer struct {
	weight, most int
	takes        time.Duration // duration of a handler
	from         time.Duration // it has messages due from then on

	*Share
	served time.Duration // of all its handlers
	woken  chan struct{} // has an element when slots are to be checked
	runs   int
	now    int // handlers that run
	peak   int // the most handlers at a time
}

// await waits for a slot.
func (a *sharer) await(ctx context.Context) bool {
	for !a.start() {
		a.ask(a.most)
		if a.start() {
			return true
		}
		select {
		case <-a.woken:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// contend makes queues contend for n slots for a while.
func contend(t *testing.T, n int, lasts time.Duration, all ...*sharer) {
	t.Helper()
	slots := NewSlots(n)
	ctx, stop := context.WithTimeout(t.Context(), lasts)
	defer stop()
	var running sync.WaitGroup
	var mu sync.Mutex
	for _, a := range all {
		a.Share, a.woken = slots.Share(a.weight, a.most), make(chan struct{}, 1)
		a.onRing(func() {
			select {
			case a.woken <- struct{}{}:
			default: // it is going to check anyway
			}
		})
		running.Go(func() {
			pause(ctx, a.from)
			defer a.trim(0)
			defer a.ask(0)
			for a.await(ctx) {
				running.Go(func() {
					for again := true; again; again = ctx.Err() == nil && a.again(a.takes) {
						began := time.Now()
						mu.Lock()
						a.now++
						a.peak = max(a.peak, a.now)
						mu.Unlock()
						pause(ctx, a.takes)
						mu.Lock()
						a.now--
						a.runs++
						a.served += time.Since(began)
						mu.Unlock()
					}
				})
			}
		})
	}
	running.Wait()
}

func TestSlots_SharesFollowTheWeights(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		name  string
		slots int
		takes [3]time.Duration
	}{
		{"as many slots as weights", 10, [3]time.Duration{50 * ms, 50 * ms, 50 * ms}},
		{"shares that are not whole slots", 4, [3]time.Duration{50 * ms, 50 * ms, 50 * ms}},
		{"one slot", 1, [3]time.Duration{10 * ms, 10 * ms, 10 * ms}},
		{"light queue with slow handlers", 10, [3]time.Duration{50 * ms, 50 * ms, 1000 * ms}},
		{"heavy queue with slow handlers", 10, [3]time.Duration{1000 * ms, 50 * ms, 50 * ms}},
		{"one slot, mixed", 1, [3]time.Duration{10 * ms, 300 * ms, 70 * ms}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const lasts = 3 * time.Minute
				weights, all := [3]int{6, 3, 1}, [3]*sharer{}
				for i := range all {
					all[i] = &sharer{weight: weights[i], most: test.slots, takes: test.takes[i]}
				}
				contend(t, test.slots, lasts, all[:]...)
				for i, a := range all {
					want, got := float64(weights[i])/10, float64(a.served)/float64(lasts)/float64(test.slots)
					if math.Abs(got-want) > 0.02 {
						t.Errorf("weight %d: %.1f %% of the time of the slots, want %.0f %%", a.weight, 100*got, 100*want)
					}
				}
			})
		})
	}
}

func TestSlots_IdleQueueLeavesItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		idle := &sharer{weight: 1000, most: 10, takes: time.Second, from: time.Hour}
		busy := &sharer{weight: 1, most: 10, takes: time.Second}
		contend(t, 10, 59*time.Second, idle, busy)
		if idle.runs > 0 || busy.served != 590*time.Second {
			t.Errorf("the idle queue had %d runs, the other %s of 590s", idle.runs, busy.served)
		}
	})
}

func TestSlots_CapHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hung := &sharer{weight: 100, most: 3, takes: time.Hour}
		busy := &sharer{weight: 1, most: 10, takes: time.Second}
		contend(t, 10, time.Minute, hung, busy)
		if over := busy.served - 7*time.Minute; hung.peak != 3 || over < 0 || over > 3*time.Second {
			t.Errorf("%d handlers hang, want 3; the others worked for %s, want 7m, and a second more at first", hung.peak, busy.served)
		}
	})
}

// A queue that had all slots while no other wanted any gets its share soon after another comes.
func TestSlots_PastUseIsForgotten(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		takes time.Duration
		want  time.Duration // time of the light queue's handlers after the other has come
	}{
		{"short handlers", 100 * time.Millisecond, 2 * time.Minute},
		{"handlers that end a minute later", 11 * time.Minute, 10*time.Minute + time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				early := &sharer{weight: 1, most: 10, takes: test.takes}
				late := &sharer{weight: 9, most: 10, takes: 100 * time.Millisecond, from: 10 * time.Minute}
				contend(t, 10, 12*time.Minute, early, late)
				if got := early.served - 100*time.Minute; got < test.want*3/4 || got > test.want*5/4 {
					t.Errorf("it worked for %s, want about %s", got, test.want)
				}
			})
		})
	}
}

func TestSlots_WhatIsNotWantedAnyMoreGoesToOthers(t *testing.T) {
	t.Parallel()
	slots := NewSlots(2)
	holder, waiter, other := slots.Share(1, 2), slots.Share(1, 2), slots.Share(1, 2)
	if holder.ask(2) != 2 || !holder.start() || !holder.start() || holder.start() {
		t.Fatal("want two slots")
	}
	if waiter.ask(2) != 0 || other.ask(1) != 0 {
		t.Fatal("more than two slots")
	}
	waiter.ask(0)
	holder.release()
	holder.release()
	if !other.start() || other.start() {
		t.Error("want one slot for the only one who waits")
	}
	for range 2 {
		if reserved, held := holder.reserve(2); reserved != 1 || held != 1 {
			t.Errorf("%d slots, %d held, want one left", reserved, held)
		}
	}
	if waiter.ask(1) != 0 {
		t.Error("want none left")
	}
	holder.trim(0)
	if waiter.ask(1) != 1 {
		t.Error("a slot that was given up did not get to the one who waits")
	}
}

// Queues whose handlers take less time than the clock can measure alternate, too.
func TestSlots_HandlersThatTakeNoTimeAlternate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := NewSlots(1)
		running, waiting := slots.Share(1, 1), slots.Share(1, 1)
		if running.ask(1) != 1 || !running.start() || waiting.ask(1) != 0 {
			t.Fatal("want the slot for the first")
		}
		runs := map[*Share]int{}
		for range 100 {
			if runs[running]++; running.again(0) {
				continue
			}
			running.ask(1)
			if running, waiting = waiting, running; !running.start() {
				t.Fatal("the slot was given up, and no queue has it")
			}
		}
		if runs[running] < 40 || runs[waiting] < 40 {
			t.Errorf("%d and %d handlers, want about 50 each", runs[running], runs[waiting])
		}
	})
}

func TestSlots_HigherLimitIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	slots := NewSlots(3)
	share := slots.Share(1, 1)
	if share.ask(3) != 1 || !share.start() || share.start() {
		t.Fatal("want one slot")
	}
	share.limit(2)
	if !share.start() || share.start() {
		t.Error("want one slot more, which is free")
	}
}

func TestSlots_ReservedOnesThatAreGivenUpGoToThoseWhoWait(t *testing.T) {
	t.Parallel()
	slots := NewSlots(2)
	holder, waiter := slots.Share(1, 2), slots.Share(1, 2)
	if holder.ask(2) != 2 || waiter.ask(1) != 0 || waiter.start() {
		t.Fatal("want both slots reserved for the first")
	}
	holder.trim(1)
	if !waiter.start() || waiter.start() {
		t.Error("want the slot for the one who waits, without being asked again")
	}
}

// A queue whose handler hung is behind the others for 10 s of one slot, not for as long as it
// hung.
func TestSlots_DebtHasABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := NewSlots(1)
		hung, other := slots.Share(1, 1), slots.Share(1, 1)
		if hung.ask(1) != 1 || !hung.start() || other.ask(1) != 0 {
			t.Fatal("want the slot for the first")
		}
		pause(t.Context(), 10*time.Minute)
		if hung.again(10*time.Minute) || !other.start() || hung.ask(1) != 0 {
			t.Fatal("want the slot for the other")
		}
		runs := 1
		for pause(t.Context(), time.Second); other.again(time.Second); pause(t.Context(), time.Second) {
			if runs++; runs > 60 {
				t.Fatalf("the other queue has had %d handlers of a second", runs)
			}
		}
		if runs < 5 || runs > 20 || !hung.start() {
			t.Errorf("%d handlers of a second before the slot came back, want about 10", runs)
		}
	})
}
