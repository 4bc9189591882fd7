package embedded

import "github.com/dueq-dev/dueq/store"

// state is where an entry is. Waiting is scheduled or ready: which of them, the
// clock decides.
type state uint8

const (
	gone state = iota // not, or no more, in the partition
	waiting
	leased
	dead
	done
)

// entry is one message. There are many: it is laid out to fill 64 bytes.
type entry struct {
	id      store.ID
	at      int64   // waiting: due; leased: deadline; dead: time of death; done: its end
	content payload // all of it or, when it is in the log, only the key
	rare    *rare   // what few messages have, nil for the others
	stored  stored  // where the payload is in the log

	maxAttempts uint16
	state       state
	traits      traits
}

// traits say whether a message has a key, and the number of its holder in holders; 0 if it
// is not leased or the holder is not known.
type traits uint8

const keyed traits = 1 << 7

// keyed reports whether e has a key.
func (e *entry) keyed() bool { return e.traits&keyed != 0 }

// holder returns the number of e's holder.
func (e *entry) holder() traits { return e.traits &^ keyed }

func (e *entry) setKeyed(has bool) {
	e.traits &^= keyed
	if has {
		e.traits |= keyed
	}
}

func (e *entry) setHolder(number traits) { e.traits = e.traits&keyed | number }

// rare is what only few messages have.
type rare struct {
	expiry   int64 // 0: none
	stopping bool  // leased, and its cancellation was asked for
	begun    bool  // leased, and its handler was about to run
	// letter: it is the dead letter of an occurrence of a recurring message. Its content has
	// the key of that message, which the letter never holds.
	letter   bool
	repeat   string // the schedule, "" if there is none
	history  history
	dedup    store.DedupID // of a message that is gone, too
	remember int64         // ms for which it is remembered when it is gone
}

// history counts the deliveries of a message that have ended, none of them with success,
// and says how the last one ended, or how a done message ended.
type history struct {
	deliveries uint32
	failures   uint32 // of them, since the last redrive
	snoozes    uint32 // likewise
	earlier    uint32 // deliveries of earlier occurrences
	ended      ending // the last one
	suspicion  store.Suspicion
	texts      string // those that were given with the last ones, as failurelog has them
}

// ending is how a delivery ended.
type ending byte

const (
	nacked   ending = 'n'
	released ending = 'r'
	snoozed  ending = 'z'
	followed ending = 'g' // by another occurrence
	rejected ending = 'j'
	lost     ending = 'l' // its lease ran out
	parted   ending = 'd' // nacked for the last time; the occurrence died and another followed

	// How a message has ended.
	acked     ending = 'a'
	cancelled ending = 'c'
	expired   ending = 'e'
)

// past returns e's history, a zero one where there is none. A done message without one was
// acked at its first delivery, as most are.
func (e *entry) past() history {
	switch {
	case e.rare != nil:
		return e.rare.history
	case e.state == done:
		return history{deliveries: 1, ended: acked}
	}
	return history{}
}

// expiry returns the instant from which e is not delivered, 0 if there is none.
func (e *entry) expiry() int64 {
	if e.rare == nil {
		return 0
	}
	return e.rare.expiry
}

// dedup returns e's dedup id, zero if it has none.
func (e *entry) dedup() store.DedupID {
	if e.rare == nil {
		return store.DedupID{}
	}
	return e.rare.dedup
}

// remember returns for how long e is remembered when it is gone, in ms.
func (e *entry) remember() int64 {
	if e.rare == nil {
		return 0
	}
	return e.rare.remember
}

// stopping reports whether e is leased and its cancellation was asked for.
func (e *entry) stopping() bool { return e.rare != nil && e.rare.stopping }

// begun reports whether e is leased and its holder recorded that its handler was about
// to run.
func (e *entry) begun() bool { return e.rare != nil && e.rare.begun }

// isLetter reports whether e is the dead letter of an occurrence of another message.
func (e *entry) isLetter() bool { return e.rare != nil && e.rare.letter }

// repeat returns e's schedule, "" if it has none.
func (e *entry) repeat() string {
	if e.rare == nil {
		return ""
	}
	return e.rare.repeat
}

// setRepeat makes repeat e's schedule.
func (e *entry) setRepeat(repeat string) {
	if repeat != e.repeat() {
		e.extra().repeat = repeat
	}
}

// extra returns the rare fields of e to be changed, and makes them if there are none.
func (e *entry) extra() *rare {
	if e.rare == nil {
		e.rare = new(rare)
	}
	return e.rare
}

// key returns e's key, "" if it has none, without copying it.
func (e *entry) key() string {
	if !e.keyed() {
		return ""
	}
	return e.content.key()
}

// attempt returns the number of the delivery that is under way or, when e is not
// leased, would be next.
func (e *entry) attempt() int { return int(e.past().deliveries) + 1 }

// receipt returns the proof of the delivery that is under way.
func (e *entry) receipt() store.Receipt {
	return store.Receipt{ID: e.id, Attempt: e.attempt(), Keyed: e.keyed() || e.isLetter()}
}

// expired reports whether e must no longer be delivered.
func (e *entry) expired(now instant) bool {
	at := e.expiry()
	return at > 0 && now.reached(at)
}

// stateAt returns the state of e at an instant, for users.
func (e *entry) stateAt(now instant) store.State {
	switch {
	case e.state == leased:
		return store.Leased
	case e.state == dead:
		return store.Dead
	case e.state == done:
		return store.Done
	case now.reached(e.at):
		return store.Ready
	}
	return store.Scheduled
}
