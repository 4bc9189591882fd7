package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
)

// fingerprint returns a text that two stores share if they are in the same state. What only
// affects when callers are forgotten is left out.
func fingerprint(s *Store) string {
	h := sha256.New()
	s.describe(h, func(p *partition) {
		p.describeMessages(h)
		p.describeCalls(h)
	})
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// contents is fingerprint without what is known besides the messages and the settings:
// counters and the last calls.
func contents(s *Store) string {
	h := sha256.New()
	s.describe(h, func(p *partition) { p.describeMessages(h) })
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (s *Store) describe(w io.Writer, each func(*partition)) {
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		q := s.queues[name]
		_, _ = fmt.Fprintf(w, "queue %s %+v\n", name, q.load())
		for _, index := range slices.Sorted(maps.Keys(q.partitions)) {
			_, _ = fmt.Fprintf(w, "partition %d\n", index)
			each(q.partitions[index])
		}
	}
}

func (p *partition) describeMessages(w io.Writer) {
	for _, o := range []order{p.waiting.order, p.leased, p.dead, p.done.order} {
		o.after(start(), func(e *entry) bool {
			content, err := p.payload(e)
			_, _ = fmt.Fprintf(w, "%v %d %d %d %v %v %v %q %v %+v %d %s %v %v %d\n",
				e.id, e.state, e.at, e.expiry(), e.maxAttempts, e.stopping(), e.begun(), e.repeat(), e.isLetter(), e.past(), len(content), content, err,
				e.dedup(), e.remember())
			return true
		})
	}
	p.memory.ends.after(start(), func(e *entry) bool {
		_, _ = fmt.Fprintf(w, "%v is gone until %d %v %t\n", e.id, e.at, e.dedup(), p.memory.named[e.dedup()] == e)
		return true
	})
	_, _ = fmt.Fprintln(w, len(p.memory.named))
	for _, key := range slices.Sorted(maps.Keys(p.byKey)) {
		_, _ = fmt.Fprintf(w, "%s %v\n", key, p.byKey[key].id)
	}
}

func (p *partition) describeCalls(w io.Writer) {
	_, _ = fmt.Fprintf(w, "%v\n", p.counts)
	for _, callers := range []calls[pushAnswer]{p.producers, p.managers} {
		for _, name := range slices.Sorted(maps.Keys(callers.byName)) {
			last := callers.byName[name].Value.(*call[pushAnswer])
			_, _ = fmt.Fprintf(w, "%s %d %v\n", name, last.number, last.answer.again())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.consumers.byName)) {
		last := p.consumers.byName[name].Value.(*call[[]handedOut])
		_, _ = fmt.Fprintf(w, "%s %d %v\n", name, last.number, p.stillHeld(last.answer))
	}
}
