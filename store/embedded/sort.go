package embedded

import (
	"runtime"
	"slices"
	"sync"
)

// While a log is read, the orders of partitions stay empty. Most messages of the log are in
// no order at its end, and sorting those that are left and adding them in order takes half
// the time of adding each as it is read, on one processor.

// sortAll builds the orders of all partitions when the log has been read, of a few
// partitions at a time.
func (s *Store) sortAll() {
	s.unsorted = false
	processors := runtime.GOMAXPROCS(0)
	work := make(chan *partition)
	var sorters sync.WaitGroup
	for range processors {
		sorters.Go(func() {
			for p := range work {
				p.sort(processors)
			}
		})
	}
	for _, p := range s.allPartitions() {
		work <- p
	}
	close(work)
	sorters.Wait()
}

// elements are messages by state.
type elements [done + 1][]element

// sortShare is how many messages are worth a goroutine.
const sortShare = 16 << 10

// sort builds the orders of a partition, on several processors if it is large.
func (p *partition) sort(processors int) {
	shares := make([]elements, max(1, min(processors, (p.byID.len()+p.done.byID.len())/sortShare)))
	var sorters sync.WaitGroup
	for i := range shares {
		sorters.Go(func() { shares[i] = p.share(i, len(shares)) })
	}
	sorters.Wait()
	ordered := func(s state) order {
		runs := make([][]element, len(shares))
		for i := range shares {
			runs[i] = shares[i][s]
		}
		return orderOf(merged(runs))
	}
	p.waiting, p.leased, p.dead, p.done.order = newTimetable(ordered(waiting)), ordered(leased), ordered(dead), ordered(done)
	p.memory.sort()
}

// share returns the i-th of n shares of the messages, in order.
func (p *partition) share(i, n int) (in elements) {
	add := func(e *entry) { in[e.state] = append(in[e.state], element{e.at, e}) }
	p.byID.eachOf(i, n, add)
	p.done.byID.eachOf(i, n, add)
	for _, of := range in {
		slices.SortFunc(of, element.compare)
	}
	return in
}

// merged merges sorted slices into one.
func merged(runs [][]element) []element {
	if len(runs) == 1 {
		return runs[0]
	}
	size := 0
	for _, run := range runs {
		size += len(run)
	}
	all := make([]element, 0, size)
	for {
		first := -1
		for i, run := range runs {
			if len(run) > 0 && (first < 0 || before(run[0], runs[first][0])) {
				first = i
			}
		}
		if first < 0 {
			return all
		}
		all = append(all, runs[first][0])
		runs[first] = runs[first][1:]
	}
}

// orderOf returns an order of elements, which are sorted. It adds every second element first:
// the tree splits its nodes in the middle, so sorted additions leave them half full, and the
// remaining elements fill them.
func orderOf(ordered []element) order {
	o := newOrder()
	for first := range 2 {
		for i := first; i < len(ordered); i += 2 {
			o.tree.ReplaceOrInsert(ordered[i])
		}
	}
	return o
}
