package lane_test

import (
	"testing"

	"github.com/dueq-dev/dueq/internal/lane"
)

func TestPool_NoLaneIsUsedTwiceAtATime(t *testing.T) {
	t.Parallel()
	p := lane.NewPool("name")
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
