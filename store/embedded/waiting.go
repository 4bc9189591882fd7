package embedded

// timetable is the order of waiting entries by due time. It also counts those that
// are ready, which the tree cannot do: entries up to a mark are counted, and calls of
// advance move the mark to the time of the clock.
type timetable struct {
	order
	mark   position
	passed int // entries that mark holds
}

func newTimetable(o order) timetable { return timetable{order: o, mark: start()} }

func (t *timetable) add(e *entry) {
	t.order.add(e)
	if t.mark.holds(e) {
		t.passed++
	}
}

func (t *timetable) drop(e *entry) {
	t.order.drop(e)
	if t.mark.holds(e) {
		t.passed--
	}
}

// advance moves the mark to now, by at most the given number of entries, and reports whether
// it has arrived: then passed is the number of ready entries. If the clock was set back, it
// counts from the beginning again.
func (t *timetable) advance(now instant, most int) bool {
	if t.mark.at > now.ms {
		t.mark, t.passed = start(), 0
	}
	arrived := true
	t.after(t.mark, func(e *entry) bool {
		if !now.reached(e.at) {
			return false
		}
		if most == 0 {
			arrived = false
			return false
		}
		most--
		t.mark = position{e.at, e.id}
		t.passed++
		return true
	})
	if arrived {
		t.mark = endOf(now.ms)
	}
	return arrived
}
