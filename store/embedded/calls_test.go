package embedded

import (
	"fmt"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
)

func at(d time.Duration) instant { return instantOf(time.UnixMilli(epoch).Add(d)) }

func TestCalls_SilentCallersAreForgottenInSmallSteps(t *testing.T) {
	t.Parallel()
	c := newCalls[int]()
	for i := range 100 {
		c.last(fmt.Sprint("old", i), at(0)).number = 1
	}
	c.last("busy", at(0)).number = 1
	c.last("busy", at(59*time.Minute)).number = 2
	for i, want := range []int{98, 95, 92} { // each new caller: one more, four fewer
		c.last(fmt.Sprint("new", i), at(time.Hour))
		if len(c.byName) != want || c.recent.Len() != want {
			t.Fatalf("after %d new callers: %d by name, %d in order, want %d", i+1, len(c.byName), c.recent.Len(), want)
		}
	}
	for i := range 40 {
		c.last(fmt.Sprint("more", i), at(time.Hour))
	}
	if _, novelty := c.recall("busy", 2, at(time.Hour)); novelty != repeated {
		t.Error("the busy caller was forgotten")
	}
	if want := 1 + 3 + 40; len(c.byName) != want {
		t.Errorf("%d callers are left, want %d", len(c.byName), want)
	}
}

func TestCalls_CallerIsKeptForAnHour(t *testing.T) {
	t.Parallel()
	c := newCalls[int]()
	c.last("p", at(0)).number = 7
	c.last("q", at(time.Hour-time.Millisecond))
	if _, novelty := c.recall("p", 7, at(time.Hour-time.Millisecond)); novelty != repeated {
		t.Errorf("forgotten within the hour")
	}
}

func TestCalls_CallersAreForgottenAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	c := newCalls[int]()
	c.last("future", at(1000*time.Hour))
	c.last("a", at(0))
	c.last("b", at(time.Hour))
	if len(c.byName) != 1 {
		t.Errorf("%d callers are remembered, want only the last", len(c.byName))
	}
}

func TestPush_RepeatedGetsTheSameResults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	keyed := func(n int) store.Message {
		m := message(n)
		m.Key = "k"
		return m
	}
	first := r.push(keyed(1), keyed(2))
	want := store.PushResult{Code: store.CodeDuplicate, Holder: id(1)}
	if first[1] != want {
		t.Fatalf("got %+v, want %+v", first[1], want)
	}
	first[1].Holder = id(99) // the caller's own copy
	r.settle(store.Ack, store.Settlement{Receipt: r.claimN(1).Deliveries[0].Receipt})
	r.number = 0
	if again := r.push(keyed(1), keyed(2)); again[0].Code != store.CodeOK || again[1] != want {
		t.Errorf("got %+v", again)
	}
	if got := r.stats(); got.Ready != 0 || got.Counters.Sent != 1 || got.Counters.Duplicates != 1 {
		t.Errorf("the repetition changed something: %+v", got)
	}
}
