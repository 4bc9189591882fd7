package embedded

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// Forecast counts the messages that become due in each of the next spans. Its cost grows with the
// messages that become due in them; they are counted in steps between which other calls run.
func (s *Store) Forecast(ctx context.Context, p store.Partition, r store.ForecastRequest) (store.Forecast, error) {
	if err := s.usable(ctx, p.Validate(), r.Validate()); err != nil {
		return store.Forecast{}, err
	}
	f := store.Forecast{Counts: make([]int64, r.Spans)}
	if part := s.partition(p); part != nil {
		part.forecast(&f, r.Step, s.clock)
	}
	return f, nil
}

// forecast adds the messages of the partition, as of one instant for each step.
func (p *partition) forecast(f *store.Forecast, step int64, clock func() instant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock()
	for !p.waiting.advance(now, statsStep) {
		p.mu.Unlock() // so that other calls do not wait long
		p.mu.Lock()
		now = clock()
	}
	f.Ready = int64(p.waiting.passed)
	scheduled := int64(p.waiting.len()) - f.Ready
	counted := int64(0)
	for from, done := endOf(now.ms), false; !done; {
		from, done = p.waiting.countSpans(f.Counts, now.ms, step, from, statsStep)
		p.mu.Unlock()
		p.mu.Lock()
	}
	for _, n := range f.Counts {
		counted += n
	}
	f.Later = max(0, scheduled-counted)
}

// countSpans counts entries behind a position, at most the given number of them, by spans from
// now. It returns where to go on, and whether none is left within the spans.
func (t *timetable) countSpans(counts []int64, now, step int64, from position, most int) (next position, done bool) {
	var last element
	done = true
	t.elements(from, func(p element) bool {
		span := (p.at - now - 1) / step
		if span >= int64(len(counts)) {
			return false
		}
		if most == 0 {
			done = false
			return false
		}
		most--
		counts[span]++
		last = p
		return true
	})
	if last.e != nil {
		from = position{last.at, last.e.id}
	}
	return from, done
}
