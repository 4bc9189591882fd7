package migrate

import (
	"cmp"
	"slices"
)

// Result compares the source with what was copied, as of the last look.
type Result struct {
	Kind    string   `json:"kind"`
	From    string   `json:"from"`  // queue of the source
	Queue   string   `json:"queue"` // queue of dueq
	Sent    int      `json:"sent"`  // messages that this run has stored
	States  []State  `json:"states"`
	Skipped []Reason `json:"skipped"`
	Lost    []Reason `json:"lost"` // what dueq has no place for, of the messages that were sent
}

// State counts the messages of the source in one of its states.
type State struct {
	State   string `json:"state"`
	Source  int    `json:"source"` // as the source counts them
	Copied  int    `json:"copied"`
	Before  int    `json:"before"` // copied by an earlier run
	Skipped int    `json:"skipped"`
}

// Reason is why messages were not copied, or what of them was not.
type Reason struct {
	Reason  string `json:"reason"`
	Count   int    `json:"count"`
	Refused bool   `json:"refused,omitempty"` // by dueq, though the state is one that is copied
	First   string `json:"first,omitempty"`   // an id, and the error

	seen int // in this look
}

// Refused returns how many messages should have been copied, but dueq has refused them.
func (r *Result) Refused() int {
	n := 0
	for _, s := range r.Skipped {
		if s.Refused {
			n += s.Count
		}
	}
	return n
}

// Missing returns how many messages the source counts that were not met: they have come, or moved to
// another state, meanwhile.
func (r *Result) Missing() int {
	n := 0
	for _, s := range r.States {
		n += max(0, s.Source-s.Copied-s.Before-s.Skipped)
	}
	return n
}

func (l *look) result() Result {
	r := Result{Kind: l.Kind, From: l.Name, Queue: l.To.Name(), Sent: l.sent, Skipped: []Reason{}, Lost: l.lost.reasons()}
	for _, name := range l.order {
		r.States = append(r.States, *l.states[name])
	}
	for i := range l.why {
		w := &l.why[i]
		if w.seen > 0 {
			r.Skipped = append(r.Skipped, Reason{Reason: w.Reason, Count: w.seen, Refused: w.Refused, First: w.First})
		}
		w.seen = 0 // for the next look
	}
	return r
}

// tally counts texts.
type tally map[string]int

func (t *tally) add(texts []string) {
	if *t == nil {
		*t = tally{}
	}
	for _, text := range texts {
		(*t)[text]++
	}
}

func (t *tally) reasons() []Reason {
	all := make([]Reason, 0, len(*t))
	for text, n := range *t {
		all = append(all, Reason{Reason: text, Count: n})
	}
	slices.SortFunc(all, func(a, b Reason) int { return cmp.Compare(a.Reason, b.Reason) })
	return all
}
