package lane_test

import (
	"testing"

	"github.com/dueq-dev/dueq/internal/lane"
)

func TestPool_NoLaneIsUsedTwiceAtATime(t *testing.T) {
	t.Parallel()
	p := lane.NewPool[int]("name")
	first, second := p.Take(), p.Take()
	if first.Name != "name-1" || second.Name != "name-2" {
		t.Fatalf("lanes %q and %q, want name-1 and name-2", first.Name, second.Name)
	}
	second.Number = 7
	p.Give(second)
	if again := p.Take(); again != second || again.Number != 7 {
		t.Fatalf("lane %+v, want the one that was given back", again)
	}
	if third := p.Take(); third.Name != "name-3" {
		t.Fatalf("lane %q, want a new one", third.Name)
	}
}

func TestPool_WhereFindsLanesThatAreNotInUse(t *testing.T) {
	t.Parallel()
	p := lane.NewPool[int]("name")
	used, free, other := p.Take(), p.Take(), p.Take()
	used.State, free.State = 1, 1
	p.Give(free)
	p.Give(other)
	found := p.Where(func(l *lane.Lane[int]) bool { return l.State == 1 })
	if len(found) != 1 || found[0] != free {
		t.Fatalf("%+v, want only %+v", found, free)
	}
}
