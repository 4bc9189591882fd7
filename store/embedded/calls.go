package embedded

import "container/list"

const (
	forgetAfter = 3600 * 1000 // ms of silence after which a caller may be forgotten
	forgetMost  = 4           // callers looked at when a new one comes
)

// calls remembers the last call of each caller with its answer, so that a repeated
// call gets the same answer. Each new caller makes it examine the few callers that have
// been silent longest: more than one, so that the number of callers can shrink.
type calls[A any] struct {
	byName map[string]*list.Element // of *call[A]
	recent *list.List               // the most silent caller first
}

// call is the last call of one caller.
type call[A any] struct {
	caller string
	number uint64
	used   int64
	answer A
}

// novelty says whether a call is new, by its number.
type novelty int

const (
	fresh    novelty = iota
	repeated         // the answer is remembered
	outdated         // a delayed duplicate of an older call
)

func newCalls[A any]() calls[A] {
	return calls[A]{byName: make(map[string]*list.Element), recent: list.New()}
}

// recall returns the novelty of a call, and the remembered answer if it is repeated.
func (c *calls[A]) recall(caller string, number uint64, now instant) (A, novelty) {
	var none A
	element, ok := c.byName[caller]
	if !ok {
		return none, fresh
	}
	last := c.use(element, now)
	switch {
	case number > last.number:
		return none, fresh
	case number < last.number:
		return none, outdated
	}
	return last.answer, repeated
}

// last returns a caller's last call to be overwritten with the next.
func (c *calls[A]) last(caller string, now instant) *call[A] {
	if element, ok := c.byName[caller]; ok {
		return c.use(element, now)
	}
	c.forget(now)
	element := c.recent.PushBack(&call[A]{caller: caller})
	c.byName[caller] = element
	return c.use(element, now)
}

func (c *calls[A]) use(element *list.Element, now instant) *call[A] {
	c.recent.MoveToBack(element)
	last := element.Value.(*call[A])
	last.used = now.ms
	return last
}

func (c *calls[A]) forget(now instant) {
	for range forgetMost {
		element := c.recent.Front()
		if element == nil {
			return
		}
		last := element.Value.(*call[A])
		last.used = min(last.used, now.ms) // the clock may have gone back since
		if now.ms-last.used < forgetAfter {
			return
		}
		c.recent.Remove(element)
		delete(c.byName, last.caller)
	}
}
