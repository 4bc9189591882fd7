package batch

import "time"

// mostStalled is how many calls may be under way beyond those that count.
const mostStalled = 3

// watch looks after one call: whether it takes longer than the line's Patience. It is used
// again and again, because calls are many and stalled ones are few.
type watch struct {
	timer     *time.Timer
	busy      bool
	overtaken bool // another call is made in its place
}

// watch begins to look after a call; nil if there is no need to.
func (l *Line[T, R]) watch() *watch {
	if l.Patience == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.watches.Get().(*watch)
	if !ok {
		w = &watch{}
		w.timer = time.AfterFunc(l.Patience, func() { l.overtake(w) })
	} else {
		w.timer.Reset(l.Patience)
	}
	w.busy = true
	return w
}

// overtake lets those who wait go before a call that is stalled is back.
func (l *Line[T, R]) overtake(w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !w.busy || w.overtaken || l.stalled == mostStalled {
		return
	}
	w.overtaken = true
	l.stalled++
	l.pass()
}

// unwatch ends the watch of a call that is back, and reports whether it was overtaken. It
// is called with the line's mutex held.
func (l *Line[T, R]) unwatch(w *watch) (overtaken bool) {
	if w == nil {
		return false
	}
	w.timer.Stop()
	overtaken = w.overtaken
	if overtaken {
		l.stalled--
	}
	w.busy, w.overtaken = false, false
	l.watches.Put(w)
	return overtaken
}
