package embedded

import "github.com/dueq-dev/dueq/store"

// list answers store.Store.List from a position on. A page ends early when its
// bodies reach store.MaxBatchBytes, so that one call cannot copy gigabytes.
func (p *partition) list(r store.ListRequest, from position, now instant) store.Page {
	var page store.Page
	found := p.inState(r, from, now)
	bytes := 0
	for i, e := range found {
		if i == r.Limit || bytes >= store.MaxBatchBytes || i > 0 && p.readEnough() {
			page.Next = cursorBehind(r, found[i-1])
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
		if r.Cursors {
			page.Cursors = append(page.Cursors, cursorBehind(r, e))
		}
		bytes += len(page.Records[i].Body)
	}
	return page
}

// inState returns the messages of a page from a position on, and one more if there is one.
func (p *partition) inState(r store.ListRequest, from position, now instant) []*entry {
	order := p.waiting.order
	switch r.State {
	case store.Scheduled: // behind the ready ones
		if !r.Descending && now.reached(from.at) {
			from = endOf(now.ms)
		}
	case store.Ready:
		if r.Descending && !now.reached(from.at) {
			from = endOf(now.ms)
		}
	case store.Waiting:
	case store.Leased:
		order = p.leased
	case store.Dead:
		order = p.dead
	case store.Done:
		order = p.done.order
	}
	var found []*entry
	visit := func(e *entry) bool {
		if len(found) > r.Limit || r.State != store.Waiting && e.stateAt(now) != r.State {
			return false
		}
		found = append(found, e)
		return true
	}
	if r.Descending {
		order.before(from, visit)
	} else {
		order.after(from, visit)
	}
	return found
}

// listFrom returns the position behind which a page begins, or what is wrong with
// the request.
func listFrom(r store.ListRequest) (position, error) {
	if err := r.Validate(); err != nil {
		return position{}, err
	}
	switch {
	case r.Cursor != "":
		return listCursor(r)
	case r.Descending && r.From > 0:
		return endOf(r.From), nil
	case r.Descending:
		return end(), nil
	case r.From > 0:
		return position{at: r.From}, nil // no id is zero
	}
	return start(), nil
}

// listCursor returns the position of the cursor of a list.
func listCursor(r store.ListRequest) (position, error) {
	order, pos, err := decodeCursor(r.Cursor)
	if err != nil {
		return position{}, err
	}
	opposite := r
	opposite.Descending = !r.Descending
	switch order {
	case letter(r):
		return pos, nil
	case letter(opposite):
		return position{}, r.OtherOrder()
	}
	return position{}, badCursor(r.Cursor)
}

// cursorBehind returns the cursor of a page that begins behind an entry.
func cursorBehind(r store.ListRequest, e *entry) string {
	return encodeCursor(letter(r), position{e.at, e.id})
}

// letter names the state of a list in cursors, in upper case for the descending order.
func letter(r store.ListRequest) byte {
	name := r.State[0]
	if r.State == store.Done {
		name = done.letter()
	}
	if r.Descending {
		name -= 'a' - 'A'
	}
	return name
}
