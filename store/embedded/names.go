package embedded

import (
	"context"
	"fmt"

	"github.com/dueq-dev/dueq/store"
)

// Names returns the names of the messages in one or more tables of the index: in a table there are
// up to 4096 messages, however low the limit is.
func (s *Store) Names(ctx context.Context, p store.Partition, r store.NamesRequest) (store.Names, error) {
	var seed, from uint64
	invalid := r.Validate()
	if invalid == nil && r.Cursor != "" {
		if _, err := fmt.Sscanf(r.Cursor, "%016x%016x", &seed, &from); err != nil || namesCursor(seed, from) != r.Cursor {
			invalid = badCursor(r.Cursor)
		}
	}
	if err := s.usable(ctx, p.Validate(), invalid); err != nil {
		return store.Names{}, err
	}
	var names store.Names
	if part := s.partition(p); part != nil {
		s.step(part, func(instant) { names = part.names(seed, from, r.Limit) })
	}
	return names, nil
}

func namesCursor(seed, from uint64) string { return fmt.Sprintf("%016x%016x", seed, from) }

// names returns names from a hash on. seed is a mark of the index: when it is another one than it was,
// because the store was opened again, or because a message took the place of another one that may have
// been listed behind it, the pass begins anew.
func (p *partition) names(seed, from uint64, limit int) (names store.Names) {
	mark := p.byID.hash(store.ID{}) + p.takenOver
	if seed != mark {
		from = 0
	}
	for examined := 0; examined < limit; {
		from = p.byID.eachAt(from, func(e *entry) {
			examined++
			switch {
			case e.content.key() != "": // also that of a letter, which is found by it
				names.Keys = append(names.Keys, e.content.key())
			case !e.dedup().IsZero():
				names.DedupIDs = append(names.DedupIDs, store.NamedByID{DedupID: e.dedup(), ID: e.id})
			}
		})
		if from == 0 {
			return names
		}
	}
	names.Next = namesCursor(mark, from)
	return names
}
