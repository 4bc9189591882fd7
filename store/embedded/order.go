package embedded

import (
	"bytes"
	"cmp"
	"math"

	"github.com/google/btree"

	"github.com/dueq-dev/dueq/store"
)

// position is a position in an order; there may be no entry with it.
type position struct {
	at int64
	id store.ID
}

// start is before every entry.
func start() position { return position{at: math.MinInt64} }

// end is behind every entry.
func end() position { return position{at: math.MaxInt64} }

// endOf is behind every entry of a millisecond: no id is that high.
func endOf(ms int64) position {
	return position{at: ms, id: store.ID(bytes.Repeat([]byte{0xff}, len(store.ID{})))}
}

// holds reports whether e is at p or before it.
func (p position) holds(e *entry) bool {
	if e.at != p.at {
		return e.at < p.at
	}
	return bytes.Compare(e.id[:], p.id[:]) <= 0
}

// order is an index of entries by their at, then id. For leased ones that is also the
// order of their receipts as text, since an id has one receipt at a time. The zero order
// stays empty: a partition has zero orders while its log is read.
type order struct{ tree *btree.BTreeG[element] }

// element is an entry in an order. It has a copy of entry.at so that most comparisons
// need not follow the pointer.
type element struct {
	at int64
	e  *entry
}

// degree of the trees: wider ones are slower to change, narrower ones slower to search.
const degree = 32

func newOrder() order { return order{btree.NewG(degree, before)} }

func before(a, b element) bool { return a.compare(b) < 0 }

func (p element) compare(other element) int {
	if p.at != other.at {
		return cmp.Compare(p.at, other.at)
	}
	return bytes.Compare(p.e.id[:], other.e.id[:])
}

func (o order) add(e *entry) {
	if o.tree != nil {
		o.tree.ReplaceOrInsert(element{e.at, e})
	}
}

func (o order) drop(e *entry) {
	if o.tree != nil {
		o.tree.Delete(element{e.at, e})
	}
}

func (o order) len() int { return o.tree.Len() }

// reached returns the first entry if its time has come, else nil.
func (o order) reached(now instant) *entry {
	if p, ok := o.tree.Min(); ok && now.reached(p.at) {
		return p.e
	}
	return nil
}

// first returns the first entry, nil when there is none.
func (o order) first() *entry {
	p, _ := o.tree.Min()
	return p.e
}

// firstAt returns the at of the first entry, never when there is none.
func (o order) firstAt() int64 {
	if p, ok := o.tree.Min(); ok {
		return p.at
	}
	return never
}

// after visits the entries behind a position until visit returns false. The order
// must not change meanwhile.
func (o order) after(pos position, visit func(e *entry) bool) {
	o.elements(pos, func(p element) bool { return visit(p.e) })
}

// before visits the entries before a position, the last one first, until visit returns false. The
// order must not change meanwhile.
func (o order) before(pos position, visit func(e *entry) bool) {
	o.tree.DescendLessOrEqual(element{pos.at, &entry{id: pos.id}}, func(p element) bool {
		return p.at == pos.at && p.e.id == pos.id || visit(p.e)
	})
}

// elements is after for who needs the time of most entries only: following the pointers of a
// million entries takes ten times as long as reading their elements.
func (o order) elements(pos position, visit func(element) bool) {
	o.tree.AscendGreaterOrEqual(element{pos.at, &entry{id: pos.id}}, func(p element) bool {
		return p.at == pos.at && p.e.id == pos.id || visit(p)
	})
}
