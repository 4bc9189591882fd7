package embedded

import "github.com/dueq-dev/dueq/store"

// list answers store.Store.List from a position on. A page ends early when its
// bodies reach store.MaxBatchBytes, so that one call cannot copy gigabytes.
func (p *partition) list(r store.ListRequest, from position, now instant) store.Page {
	var page store.Page
	found := p.inState(r.State, from, r.Limit+1, now)
	bytes := 0
	for i, e := range found {
		if i == r.Limit || bytes >= store.MaxBatchBytes || i > 0 && p.readEnough() {
			last := found[i-1]
			page.Next = encodeCursor(letter(r.State), position{last.at, last.id})
			break
		}
		content, err := p.payload(e)
		if err != nil {
			content = e.content // all that is in memory: the key
		}
		page.Records = append(page.Records, p.record(e, content, r.BodyLimit, now))
		if err != nil {
			page.Records[i].MaxAttempts = 0
		}
		if r.State == store.Waiting {
			page.Records[i].State = store.Waiting
		}
		bytes += len(page.Records[i].Body)
	}
	return page
}

// inState returns at most limit messages of a state behind a position, in order.
func (p *partition) inState(s store.State, from position, limit int, now instant) []*entry {
	order := p.waiting.order
	switch s {
	case store.Scheduled:
		if now.reached(from.at) {
			from = endOf(now.ms)
		}
	case store.Ready, store.Waiting:
	case store.Leased:
		order = p.leased
	case store.Dead:
		order = p.dead
	case store.Done:
		order = p.done.order
	}
	var found []*entry
	order.after(from, func(e *entry) bool {
		if len(found) == limit || s != store.Waiting && e.stateAt(now) != s {
			return false
		}
		found = append(found, e)
		return true
	})
	return found
}

// listFrom returns the position behind which a page begins, or what is wrong with
// the request.
func listFrom(r store.ListRequest) (position, error) {
	if err := r.Validate(); err != nil || r.Cursor == "" && r.From == 0 {
		return start(), err
	}
	if r.Cursor == "" {
		return position{at: r.From}, nil // no id is zero
	}
	order, pos, err := decodeCursor(r.Cursor)
	if err == nil && order != letter(r.State) {
		err = badCursor(r.Cursor)
	}
	return pos, err
}

// letter names a state in cursors.
func letter(s store.State) byte {
	if s == store.Done {
		return done.letter()
	}
	return s[0]
}
