package embedded

import (
	"hash/maphash"

	"github.com/dueq-dev/dueq/store"
)

// index finds messages by id. A Go map of ids to entries takes 38 bytes a message,
// because it keeps a copy of every id; this takes 13.
//
// It is extendible hashing: the highest bits of an id's hash choose one of many small
// tables, and a table that is full is split into two. So growing never touches more
// than one small table, where a single large one would stop the partition for a second
// at ten million messages.
type index struct {
	seed   maphash.Seed
	bits   int      // of the hash that choose among tables
	tables []*table // 1 << bits; several may be the same
	size   int
}

// table is open addressing with linear probing.
type table struct {
	bits  int // of the hash that all of its entries have in common
	size  int
	slots []*entry // a power of two
}

const (
	tableLeast = 8
	tableMost  = 4096
)

func newIndex() index {
	return index{seed: maphash.MakeSeed(), tables: []*table{{slots: make([]*entry, tableLeast)}}}
}

func (x *index) len() int { return x.size }

func (x *index) hash(id store.ID) uint64 { return maphash.Comparable(x.seed, id) }

// table returns the table for a hash.
func (x *index) table(hash uint64) *table { return x.tables[hash>>(64-x.bits)] }

// get returns the message with an id, nil if there is none.
func (x *index) get(id store.ID) *entry {
	hash := x.hash(id)
	t := x.table(hash)
	for i := hash; ; i++ {
		e := t.slots[i&t.mask()]
		if e == nil || e.id == id {
			return e
		}
	}
}

// add adds a message whose id is not there.
func (x *index) add(e *entry) {
	hash := x.hash(e.id)
	for {
		t := x.table(hash)
		if t.size < len(t.slots)/8*7 {
			t.put(hash, e)
			x.size++
			return
		}
		x.grow(t, hash)
	}
}

// drop removes a message, if it is there.
func (x *index) drop(e *entry) {
	t := x.table(x.hash(e.id))
	mask := t.mask()
	gap := x.hash(e.id) & mask
	for t.slots[gap] != e {
		if t.slots[gap] == nil {
			return
		}
		gap = (gap + 1) & mask
	}
	x.size--
	t.size--
	// A later entry of the probe sequence that would not be found across the gap moves into it.
	for i := (gap + 1) & mask; t.slots[i] != nil; i = (i + 1) & mask {
		home := x.hash(t.slots[i].id) & mask
		if (i-home)&mask >= (i-gap)&mask {
			t.slots[gap], gap = t.slots[i], i
		}
	}
	t.slots[gap] = nil
	if x.size == 0 && len(x.tables) > 1 { // what was large does not stay large
		*x = newIndex()
	}
}

// each calls visit for every message, in no order. Nothing may be added or dropped
// meanwhile.
func (x *index) each(visit func(e *entry)) { x.eachOf(0, 1, visit) }

// eachOf is each for the i-th of n shares of the messages.
func (x *index) eachOf(i, n int, visit func(e *entry)) {
	for at := i * len(x.tables) / n; at < (i+1)*len(x.tables)/n; at++ {
		t := x.tables[at]
		if at > 0 && t == x.tables[at-1] {
			continue // the same table, which neighbouring indexes share
		}
		for _, e := range t.slots {
			if e != nil {
				visit(e)
			}
		}
	}
}

// eachAt calls visit for every message of the table with the given hash, and returns where the next
// table begins; 0: it was the last. A message keeps its place in this order when tables are split.
func (x *index) eachAt(hash uint64, visit func(e *entry)) (next uint64) {
	t := x.table(hash)
	for _, e := range t.slots {
		if e != nil {
			visit(e)
		}
	}
	width := 64 - t.bits
	return (hash>>width + 1) << width
}

// grow replaces a full table by a larger one, or splits it into two.
func (x *index) grow(t *table, hash uint64) {
	if len(t.slots) < tableMost {
		old := t.slots
		t.slots, t.size = make([]*entry, 2*len(old)), 0
		x.refill(old, func(uint64) *table { return t })
		return
	}
	if t.bits == x.bits {
		x.double()
	}
	halves := [2]*table{{bits: t.bits + 1}, {bits: t.bits + 1}}
	for i := range halves {
		halves[i].slots = make([]*entry, tableMost)
	}
	// The tables of t are those whose number begins with the bits its entries share.
	run := 1 << (x.bits - t.bits)
	first := int(hash>>(64-x.bits)) &^ (run - 1)
	for i := range run {
		x.tables[first+i] = halves[i/(run/2)]
	}
	x.refill(t.slots, x.table)
}

func (x *index) refill(old []*entry, of func(hash uint64) *table) {
	for _, e := range old {
		if e != nil {
			hash := x.hash(e.id)
			of(hash).put(hash, e)
		}
	}
}

// double doubles the number of table slots: one more bit of the hash chooses the table.
func (x *index) double() {
	tables := make([]*table, 2*len(x.tables))
	for i := range tables {
		tables[i] = x.tables[i/2]
	}
	x.tables = tables
	x.bits++
}

func (t *table) mask() uint64 { return uint64(len(t.slots) - 1) }

func (t *table) put(hash uint64, e *entry) {
	i := hash & t.mask()
	for t.slots[i] != nil {
		i = (i + 1) & t.mask()
	}
	t.slots[i] = e
	t.size++
}
