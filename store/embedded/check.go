package embedded

import (
	"fmt"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// The orders that an audit walks through, in this sequence, by their letters in cursors.
const auditOrders = "wlde"

// check examines at most limit messages behind a position of an order; totals are
// compared in the last step.
func (p *partition) check(from byte, pos position, limit int) store.CheckResult {
	var r store.CheckResult
	for i := orderIndex(from); i < len(auditOrders); i++ {
		letter := auditOrders[i]
		p.audited(letter).after(pos, func(e *entry) bool {
			if r.Examined == limit || r.Examined > 0 && p.readEnough() {
				r.Next = encodeCursor(letter, pos)
				return false
			}
			r.Examined++
			pos = position{e.at, e.id}
			r.Problems = append(r.Problems, p.problems(letter, e)...)
			return true
		})
		if r.Next != "" {
			return r
		}
		pos = start()
	}
	r.Problems = append(r.Problems, p.totals()...)
	return r
}

// letter names the order that messages of a state are in.
func (s state) letter() byte {
	switch s {
	case waiting:
		return 'w'
	case leased:
		return 'l'
	case dead:
		return 'd'
	case done:
		return 'e'
	case gone:
	}
	return '-'
}

// orderName names the messages in the order of a letter.
func orderName(letter byte) string {
	switch letter {
	case 'w':
		return "waiting"
	case 'l':
		return "leased"
	case 'd':
		return "dead"
	case 'e':
		return "done"
	}
	return "removed"
}

// orderIndex returns the index of a letter in auditOrders, -1 for an unknown one.
func orderIndex(letter byte) int {
	for i := range len(auditOrders) {
		if auditOrders[i] == letter {
			return i
		}
	}
	return -1
}

// audited returns the order that a letter names.
func (p *partition) audited(letter byte) order {
	switch letter {
	case 'l':
		return p.leased
	case 'd':
		return p.dead
	case 'e':
		return p.done.order
	}
	return p.waiting.order
}

// problems returns what is wrong with a message found in an order.
func (p *partition) problems(letter byte, e *entry) []store.Problem {
	var found []store.Problem
	report := func(format string, args ...any) {
		found = append(found, store.Problem{ID: e.id.String(), Text: fmt.Sprintf(format, args...)})
	}
	byID := &p.byID
	if e.state == done {
		byID = &p.done.byID
	}
	if byID.get(e.id) != e {
		report("is in an order but has no record")
	}
	if e.state.letter() != letter {
		report("is in the order of %s messages but is %s", orderName(letter), orderName(e.state.letter()))
	}
	past := e.past()
	if past.failures > past.deliveries {
		report("failed %d times in %d deliveries", past.failures, past.deliveries)
	} else if past.failures+past.snoozes+past.earlier > past.deliveries {
		report("failed %d times and snoozed %d times in %d deliveries, %d of them of earlier occurrences",
			past.failures, past.snoozes, past.deliveries, past.earlier)
	}
	if e.state == dead && past == (history{}) {
		report("is dead without a history")
	}
	if e.stopping() && e.state != leased {
		report("is to be cancelled but is not leased")
	}
	if e.begun() && e.state != leased {
		report("is marked as started but is not leased")
	}
	if e.holder() != 0 && (e.state != leased || p.holders.name(e) == "") {
		report("has a holder that does not hold it")
	}
	if name := e.dedup(); e.state != done && !name.IsZero() && p.memory.named[name] != e {
		report("does not have its dedup id")
	}
	if e.state != done && p.memory.gone.get(e.id) != nil {
		report("is remembered as gone")
	}
	if problem := p.keyProblem(e); problem != "" {
		report("%s", problem)
	}
	if _, err := p.payload(e); err != nil {
		report("%s", err)
	}
	return found
}

func (p *partition) keyProblem(e *entry) string {
	key := e.content.key()
	switch {
	case e.isLetter() && (e.keyed() || key == ""):
		return "is of an occurrence, but does not name the key of its message"
	case !e.isLetter() && e.keyed() != (key != ""):
		return "is marked as having a key, or as having none, but its content says the opposite"
	case key == "":
		return ""
	case e.state == done && p.byKey[key] == e:
		return fmt.Sprintf("is done but holds the key %+q", key)
	case e.state == done:
		return ""
	case e.state == dead && !slices.Contains(p.deadKeys[key], e):
		return fmt.Sprintf("is dead, but is not found by its key %+q", key)
	case e.state == dead && p.byKey[key] == e:
		return fmt.Sprintf("is dead but holds the key %+q", key)
	case e.state != dead && slices.Contains(p.deadKeys[key], e):
		return fmt.Sprintf("is not dead, but is found as such by its key %+q", key)
	case e.isLetter() && p.byKey[key] == e:
		return fmt.Sprintf("is of an occurrence, but holds the key %+q", key)
	case e.keyed() && e.state != dead && p.byKey[key] != e:
		return fmt.Sprintf("does not hold its key %+q", key)
	}
	return ""
}

// totals compares the sizes of the indexes with each other and with the counters.
func (p *partition) totals() []store.Problem {
	var found []store.Problem
	compare := func(what string, got, want int64) {
		if got != want {
			found = append(found, store.Problem{Text: fmt.Sprintf("%s: %d, want %d", what, got, want)})
		}
	}
	live := int64(p.byID.len())
	var c store.Counters
	p.addCounters(&c)
	compare("messages in an order", int64(p.waiting.len()+p.leased.len()+p.dead.len()), live)
	compare("done messages in their order", int64(p.done.order.len()), int64(p.done.byID.len()))
	compare("keys held", int64(len(p.byKey)), int64(p.keyed))
	compare("remembered in an order", int64(p.memory.ends.len()), int64(p.memory.gone.len()))
	compare("sent less gone", c.Sent-c.Gone(), live)
	return found
}

// checkFrom returns the order and position where a step of an audit begins, or what
// is wrong with the request.
func checkFrom(r store.CheckRequest) (byte, position, error) {
	if err := r.Validate(); err != nil || r.Cursor == "" {
		return auditOrders[0], start(), err
	}
	letter, pos, err := decodeCursor(r.Cursor)
	if err == nil && orderIndex(letter) < 0 {
		err = badCursor(r.Cursor)
	}
	return letter, pos, err
}
