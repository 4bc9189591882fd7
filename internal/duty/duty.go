// Package duty decides which consumer of a queue is on duty for each of its partitions.
package duty

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// None is the owner of a partition when there are no consumers.
const None = ""

// Assign returns the owner of each partition: the name of the consumer on duty. owners are those of
// before, of which any may be gone; consumers are those that live, in order and each once.
//
// The numbers of partitions that two consumers have differ by at most one. A consumer that joins or
// leaves changes the owners of at most partitions / len(consumers) of them, rounded up, where
// consumers includes that one. Within these limits a partition goes to the consumer with the highest
// weight for it, which is a hash of both names. So a consumer of many queues with few partitions has
// its part of all duties.
func Assign(queue string, owners, consumers []string, partitions int) []string {
	a := newAssignment(queue, owners, consumers, partitions)
	if len(consumers) == 0 {
		return a.names()
	}
	a.dismiss()
	for p, owner := range a.owners {
		if owner < 0 {
			a.give(p, a.best(p, a.hasRoom))
		}
	}
	a.improve()
	return a.names()
}

// Of returns the partitions that a consumer is on duty for.
func Of(consumer string, owners []string) (partitions []int) {
	for p, owner := range owners {
		if owner == consumer {
			partitions = append(partitions, p)
		}
	}
	return partitions
}

// assignment is the state of Assign. Consumers are indexes into consumers.
type assignment struct {
	consumers []string
	owners    []int    // by partition; -1: none
	loads     []int    // by consumer: its partitions
	full      int      // consumers with more than the least number of partitions
	seeds     []uint64 // by consumer
	queue     uint64
	moved     int
}

func newAssignment(queue string, owners, consumers []string, partitions int) *assignment {
	a := &assignment{
		consumers: consumers, owners: make([]int, partitions), loads: make([]int, len(consumers)),
		seeds: make([]uint64, len(consumers)), queue: xxhash.Sum64String(queue),
	}
	for i, name := range consumers {
		a.seeds[i] = xxhash.Sum64String(name)
	}
	for p := range a.owners {
		a.owners[p] = -1
		if p >= len(owners) {
			continue
		}
		if owner, live := slices.BinarySearch(consumers, owners[p]); live {
			a.owners[p] = owner
			a.loads[owner]++
		} else if owners[p] != None {
			a.moved++
		}
	}
	return a
}

// least returns the least number of partitions of a consumer, and how many consumers have one
// more.
func (a *assignment) least() (n, more int) {
	return len(a.owners) / len(a.consumers), len(a.owners) % len(a.consumers)
}

// dismiss takes partitions from the consumers that have too many: of each the ones for which its
// weight is lowest.
func (a *assignment) dismiss() {
	least, more := a.least()
	for c := range a.consumers {
		limit := least
		if a.loads[c] > least && a.full < more {
			a.full++
			limit++
		}
		for a.loads[c] > limit {
			a.take(a.lightest(c))
		}
	}
}

// lightest returns the partition of a consumer for which its weight is lowest.
func (a *assignment) lightest(consumer int) int {
	partition, lowest := -1, uint64(math.MaxUint64)
	for p, owner := range a.owners {
		if owner != consumer {
			continue
		}
		if w := a.weight(p, consumer); partition < 0 || w < lowest {
			partition, lowest = p, w
		}
	}
	return partition
}

func (a *assignment) take(partition int) {
	a.loads[a.owners[partition]]--
	a.owners[partition] = -1
	a.moved++
}

func (a *assignment) give(partition, consumer int) {
	least, _ := a.least()
	a.owners[partition] = consumer
	if a.loads[consumer]++; a.loads[consumer] > least {
		a.full++
	}
}

// hasRoom reports whether a consumer may get one more partition.
func (a *assignment) hasRoom(consumer int) bool {
	least, more := a.least()
	return a.loads[consumer] < least || a.loads[consumer] == least && a.full < more
}

// best returns the consumer with the highest weight for a partition of those that may have it; -1
// if there is none.
func (a *assignment) best(partition int, may func(int) bool) int {
	consumer, highest := -1, uint64(0)
	for c := range a.consumers {
		if !may(c) {
			continue
		}
		if w := a.weight(partition, c); consumer < 0 || w > highest {
			consumer, highest = c, w
		}
	}
	return consumer
}

// improve gives a partition to a consumer that has none and a higher weight for it than its owner.
// Where each consumer has at most one partition, that is as balanced as before. At most one
// partition moves, which is what the change of one consumer may cause.
func (a *assignment) improve() {
	least, _ := a.least()
	if least > 0 || a.moved > 0 {
		return
	}
	idle := func(c int) bool { return a.loads[c] == 0 }
	for p, owner := range a.owners {
		c := a.best(p, idle)
		if c >= 0 && a.weight(p, c) > a.weight(p, owner) {
			a.take(p)
			a.give(p, c)
			return
		}
	}
}

// weight is the same for the same names on every machine, though only one needs to compute it.
func (a *assignment) weight(partition, consumer int) uint64 {
	// The finalizer of SplitMix64 spreads the differences between the inputs over all bits.
	w := a.seeds[consumer] ^ (a.queue + uint64(partition)*0x9e3779b97f4a7c15)
	w = (w ^ w>>30) * 0xbf58476d1ce4e5b9
	w = (w ^ w>>27) * 0x94d049bb133111eb
	return w ^ w>>31
}

func (a *assignment) names() []string {
	names := make([]string, len(a.owners))
	for p, owner := range a.owners {
		names[p] = None
		if owner >= 0 {
			names[p] = a.consumers[owner]
		}
	}
	return names
}
