package embedded

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

// inOrder returns the messages of an order.
func inOrder(o order) []element {
	var all []element
	o.after(start(), func(e *entry) bool {
		all = append(all, element{e.at, e})
		return true
	})
	return all
}

// The orders that are made when a log has been read are those that would have been kept.
func TestSortAll_MakesTheOrdersThatWouldHaveBeenKept(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	const most = 4*sortShare + 7
	for _, n := range []int{0, 1, 2, 100, most} {
		for _, processors := range []int{1, 2, 3, 4} {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(processors)))
			kept := newPartition(newQueue("q", newStore(Config{})), 0)
			s := newStore(Config{})
			s.unsorted = true
			read := s.queue("q").partition(0)
			for i := range n {
				at, st := rng.Int64N(1000), []state{waiting, waiting, leased, dead}[rng.IntN(4)]
				for _, p := range []*partition{kept, read} {
					p.add(&entry{id: id(i + 1), at: at, content: "\x00\x00\x00"}, st)
				}
				if e := id(rng.IntN(i+1) + 1); rng.IntN(3) == 0 && kept.byID.get(e) != nil {
					kept.drop(kept.byID.get(e))
					read.drop(read.byID.get(e))
				}
			}
			read.sort(processors)
			for _, orders := range [][2]order{{read.waiting.order, kept.waiting.order}, {read.leased, kept.leased}, {read.dead, kept.dead}} {
				same := func(a, b element) bool { return a.at == b.at && a.e.id == b.e.id }
				if got, want := inOrder(orders[0]), inOrder(orders[1]); !slices.EqualFunc(got, want, same) {
					t.Fatalf("%d messages, %d processors: %d elements, want %d, or not in order", n, processors, len(got), len(want))
				}
			}
		}
	}
}

// A partition that is made later keeps its orders.
func TestSortAll_LaterPartitionsKeepTheirOrders(t *testing.T) {
	t.Parallel()
	s := newStore(Config{})
	s.unsorted = true
	s.queue("before")
	s.sortAll()
	for _, name := range []string{"before", "after"} {
		p := s.makePartition(store.Partition{Queue: name})
		p.add(&entry{id: id(1), content: "\x00\x00\x00"}, waiting)
		if n := p.waiting.len(); n != 1 {
			t.Errorf("%s: %d waiting, want 1", name, n)
		}
	}
}
