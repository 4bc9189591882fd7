package embedded

import "testing"

// In a damaged log, a message can take a key whose holder was not seen to go. When that one
// is put down again behind it, as a dead letter by a repair that a crash cut short, the later
// holder keeps the key: else the next repair would take it for dead, too.
func TestRepair_LaterHolderKeepsTheKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	holder := func(n int) *entry {
		m := message(n)
		m.Key = "k"
		return &entry{id: m.ID, content: newPayload(&m), traits: keyed, maxAttempts: 1}
	}
	r.push(message(9)) // makes the partition
	p, first, second := r.inner(), holder(1), holder(2)
	p.add(first, waiting)
	p.add(second, waiting)
	p.drop(first)
	p.counts[countSent]++
	if p.byKey["k"] != second || p.keyed != 1 {
		t.Errorf("the key is held by %v, %d keys are held", p.byKey["k"], p.keyed)
	}
}
