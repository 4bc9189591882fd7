package embedded

import (
	"math/rand/v2"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

func TestIndex_AgreesWithAMap(t *testing.T) {
	t.Parallel()
	x, want := newIndex(), map[store.ID]*entry{}
	rng := rand.New(rand.NewPCG(1, 2))
	for step := range 200_000 {
		key := id(rng.IntN(20_000))
		switch e := want[key]; {
		case x.get(key) != e:
			t.Fatalf("step %d: got %v, want %v", step, x.get(key), e)
		case e == nil:
			e = &entry{id: key}
			want[key] = e
			x.add(e)
		case step > 100_000 || rng.IntN(3) == 0: // it grows at first, then shrinks
			x.drop(e)
			x.drop(e) // once more does nothing
			delete(want, key)
		}
	}
	seen := 0
	x.each(func(e *entry) {
		if want[e.id] != e {
			t.Fatalf("%v is there but should not be", e.id)
		}
		seen++
	})
	if seen != len(want) || x.len() != len(want) {
		t.Errorf("%d seen, length %d, want %d", seen, x.len(), len(want))
	}
}
