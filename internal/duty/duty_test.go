package duty

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// loads returns how many partitions each consumer has.
func loads(owners, consumers []string) map[string]int {
	n := map[string]int{}
	for _, c := range consumers {
		n[c] = 0
	}
	for _, o := range owners {
		n[o]++
	}
	return n
}

func moves(before, after []string) (n int) {
	for i := range before {
		if before[i] != after[i] {
			n++
		}
	}
	return n
}

// Consumers join and leave one at a time, and each time the duties are even and few of them move.
func TestAssign_EvenAndFewMove(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.IntRange(1, 70).Draw(t, "partitions")
		var consumers []string
		owners := Assign("orders", nil, nil, partitions)
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			before := consumers
			name := fmt.Sprintf("c%02d", rapid.IntRange(0, 30).Draw(t, "consumer"))
			i, there := slices.BinarySearch(consumers, name)
			if there {
				consumers = slices.Delete(slices.Clone(consumers), i, i+1)
			} else {
				consumers = slices.Insert(slices.Clone(consumers), i, name)
			}
			next := Assign("orders", owners, consumers, partitions)
			checkEven(t, loads(next, consumers), consumers, partitions)
			among := max(len(before), len(consumers))
			allowed := (partitions + among - 1) / among
			if n := moves(owners, next); n > allowed {
				t.Fatalf("%d of %d partitions moved when %s joined or left, want at most %d: one of %d consumers", n, partitions, name, allowed, among)
			}
			owners = next
		}
	})
}

func checkEven(t *rapid.T, loads map[string]int, consumers []string, partitions int) {
	t.Helper()
	if len(consumers) == 0 {
		if loads[None] != partitions {
			t.Fatalf("owners without consumers: %v", loads)
		}
		return
	}
	least, most := partitions/len(consumers), (partitions+len(consumers)-1)/len(consumers)
	for name, n := range loads {
		if n < least || n > most || !slices.Contains(consumers, name) {
			t.Fatalf("%q has %d of %d partitions, want %d to %d: %v", name, n, partitions, least, most, loads)
		}
	}
}

// Any number of consumers join and leave at a time; all that is asked for is that the duties are
// even, and that what need not move stays.
func TestAssign_ManyChangesAtATime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.IntRange(1, 40).Draw(t, "partitions")
		names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{1,3}`), rapid.ID[string])
		before, after := names.Draw(t, "before"), names.Draw(t, "after")
		slices.Sort(before)
		slices.Sort(after)
		owners := Assign("q", nil, before, partitions)
		next := Assign("q", owners, after, partitions)
		checkEven(t, loads(next, after), after, partitions)
		if !slices.Equal(next, Assign("q", owners, after, partitions)) {
			t.Fatal("two computations differ")
		}
		more := Assign("q", next, after, partitions+3)
		checkEven(t, loads(more, after), after, partitions+3)
	})
}

// The consumers of many queues with one partition have about as many duties each, whatever the
// order in which they came.
func TestAssign_ManyQueuesAreSpread(t *testing.T) {
	t.Parallel()
	const queues, consumers = 2000, 20
	var names []string
	owners := make([][]string, queues)
	for i := range consumers {
		names = append(names, fmt.Sprintf("host-%02d", i))
		for q := range owners {
			owners[q] = Assign(fmt.Sprintf("queue-%d", q), owners[q], names, 1)
		}
	}
	n := map[string]int{}
	for _, o := range owners {
		n[o[0]]++
	}
	for _, name := range names {
		if n[name] < 60 || n[name] > 150 { // 100 on average, with a standard deviation of 10
			t.Errorf("%s has the duty for %d of %d queues, want about %d", name, n[name], queues, queues/consumers)
		}
	}
}
