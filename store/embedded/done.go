package embedded

import "github.com/dueq-dev/dueq/store"

// ended are the done messages of a partition: they are gone for everything but reading and
// purging. One that was sent again under its id can be live and done.
type ended struct {
	byID  index
	byKey endedByKey // those that ended last with each key, listed of them at most
	order order      // by the time of their end
	most  int        // how many there have been since byKey was made
}

func (d *ended) add(e *entry) {
	d.byID.add(e)
	d.order.add(e)
	d.byKey.addLast(e, listed)
	d.most = max(d.most, d.byID.len())
}

// drop is called with messages that [partition.leave] has taken out of the orders.
func (d *ended) drop(e *entry) {
	d.byID.drop(e)
	if d.byID.len() == 0 && d.most >= largeMap {
		d.byKey, d.most = make(endedByKey), 0
	}
}

// listed is how many done messages of a key are found by it, at most: those of a key that
// comes again and again are many.
const listed = 16

// shedMost bounds the done messages that one claim removes.
const shedMost = 500

// finish ends a message: any state -> done where the queue keeps done messages, unless space
// is scarce; else -> (gone). Each pushes out one that need not be kept any more.
func (p *partition) finish(e *entry, how ending, now instant) {
	if !p.keepsDone() {
		p.remove(e, now)
		return
	}
	if old := p.done.byID.get(e.id); old != nil {
		p.forget(old)
	}
	p.end(e, how, now.ms)
	p.recall(e, now)
	p.shed(1, now)
}

func (p *partition) keepsDone() bool {
	return p.queue.settings.Load().History > 0 && !p.journal.scarce()
}

// shed removes done messages that have been kept for long enough, or are too many, the oldest
// first, up to a limit. It reports whether there are more.
func (p *partition) shed(limit int, now instant) bool {
	s := p.queue.settings.Load()
	for n := 0; ; n++ {
		e := p.done.order.first()
		if e == nil || !now.reached(e.at+s.History) && int64(p.done.order.len()) <= s.DonePerPartition() {
			return false
		}
		if n == limit {
			return true
		}
		p.forget(e)
	}
}

// look is find for reading: it finds done messages, too, if there is no other.
func (p *partition) look(ref store.Ref) *entry {
	if e := p.find(ref); e != nil {
		return e
	}
	if ref.ID.IsZero() {
		return p.done.byKey.last(ref.Key)
	}
	return p.done.byID.get(ref.ID)
}

// ending returns how a done message ended, "" for any other.
func (e *entry) ending() store.Ending {
	if e.state != done {
		return ""
	}
	switch e.past().ended {
	case acked:
		return store.EndingAcked
	case cancelled:
		return store.EndingCancelled
	default:
		return store.EndingExpired
	}
}
