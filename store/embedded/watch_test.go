package embedded

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// listen watches the rig's queue inside a synctest bubble. The returned function
// gives the events since its last call.
func listen(r *rig) (events func() []store.Event) {
	var got []store.Event
	go func() {
		if err := r.Watch(r.Context(), r.p.Queue, func(e store.Event) { got = append(got, e) }); err != nil {
			r.Errorf("watch: %v", err)
		}
	}()
	return func() []store.Event {
		synctest.Wait()
		batch := got
		got = nil
		return batch
	}
}

func wake(partition int) store.Event {
	return store.Event{Kind: store.EventWake, Partition: partition}
}

func TestWatch_WakesWhenTheFirstMessageIsDueEarlier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		later, sooner, behind := message(1), message(2), message(3)
		later.Delay, sooner.Delay, behind.Delay = 1000, 500, 800
		var receipt store.Receipt
		nack := func(delay int64) {
			r.settle(store.Nack, store.Settlement{Receipt: receipt, Delay: delay})
		}
		claim := func() {
			r.clock.move(time.Minute)
			receipt = r.claimN(1).Deliveries[0].Receipt
		}
		events := listen(r)
		resync := []store.Event{{Kind: store.EventResync}}
		steps := []struct {
			name string
			do   func()
			want []store.Event
		}{
			{"watch begins", func() {}, resync},
			{"first message", func() { r.push(later) }, []store.Event{wake(0)}},
			{"earlier message", func() { r.push(sooner) }, []store.Event{wake(0)}},
			{"message behind it", func() { r.push(behind) }, nil},
			{"the same again", func() { r.push(sooner) }, nil},
			{"claim", claim, nil},
			{"nack behind the first", func() { nack(3600_000) }, nil},
			{"claim", claim, nil},
			{"nack before the first", func() { r.claimN(9); nack(1) }, []store.Event{wake(0)}},
			{"claim puts back a lease", func() { r.clock.move(time.Minute); r.claimN(9) }, nil},
			{"clock moved", r.ClockMoved, resync},
		}
		for _, step := range steps {
			step.do()
			if got := events(); !slices.Equal(got, step.want) {
				t.Errorf("%s: got %v, want %v", step.name, got, step.want)
			}
		}
	})
}

func TestWatch_ResumeWakesEveryPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		partitions, paused, resumed := 3, true, false
		r.configure(store.Change{Partitions: &partitions, Paused: &paused})
		events := listen(r)
		events()
		r.configure(store.Change{Paused: &resumed})
		if got, want := events(), []store.Event{wake(0), wake(1), wake(2)}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestWatch_StopNamesTheCancelledMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.push(message(1), message(2))
		r.claimN(1)
		events := listen(r)
		events()
		codes, err := r.Cancel(t.Context(), r.p, r.cancelRequest(store.Ref{ID: id(1)}, store.Ref{ID: id(2)}, store.Ref{ID: id(3)}))
		r.must(err)
		if want := []store.Code{store.CodeRunning, store.CodeOK, store.CodeNotFound}; !slices.Equal(codes, want) {
			t.Errorf("got %v, want %v", codes, want)
		}
		if got, want := events(), []store.Event{{Kind: store.EventStop, ID: id(1)}}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestWatch_SlowWatcherGetsAMissedEvent(t *testing.T) {
	t.Parallel()
	w := newWatcher()
	for range 10 * maxPending {
		w.notify(wake(1))
	}
	got := w.take()
	if len(got) > maxPending || got[0].Kind != store.EventResync {
		t.Errorf("%d events, the first %v", len(got), got[0])
	}
}

func TestWatch_EndsWithItsContextOrTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewMemory(Config{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		watch := func(ctx context.Context) { ended <- s.Watch(ctx, "q", func(store.Event) {}) }
		go watch(ctx)
		go watch(t.Context())
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("context ended: got %v, want nil", err)
		}
		watch(ctx)
		if err := <-ended; err != nil {
			t.Errorf("context ended before: got %v, want nil", err)
		}
		_ = s.Close()
		if err := <-ended; !errors.Is(err, store.ErrClosed) {
			t.Errorf("store closed: got %v, want closed", err)
		}
		if len(s.watchers.byQueue) != 0 {
			t.Error("watchers are left behind")
		}
	})
}

// Of clients that are gone nothing is left.
func TestBeat_NothingIsLeftOfClientsThatAreGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	beat := func(client string, ttl int64) {
		t.Helper()
		_, err := r.Beat(t.Context(), store.BeatRequest{Client: client, TTL: ttl, Join: []store.Member{{Queue: r.p.Queue, Consumer: client}}})
		r.must(err)
	}
	beat("b", 1000)
	beat("a", 5000)
	r.clock.move(time.Second)
	beat("a", 0)
	if len(r.members.clients)+len(r.members.queues) != 0 {
		t.Errorf("a has left and b is silent, but there are %d clients and %d queues", len(r.members.clients), len(r.members.queues))
	}
}
