package embedded

import (
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

func TestCheck_FindsDamage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		damage func(p *partition)
		want   string // in one of the problems
	}{
		{"record lost", func(p *partition) { p.byID.drop(p.byID.get(id(1))) }, "is in an order but has no record"},
		{"not in its order", func(p *partition) { p.waiting.drop(p.byID.get(id(1))) }, "messages in an order: 3, want 4"},
		{"in two orders", func(p *partition) { p.dead.add(p.byID.get(id(1))) }, "is in the order of dead messages but is waiting"},
		{"key freed", func(p *partition) { delete(p.byKey, "k2") }, `does not hold its key "k2"`},
		{"key left behind", func(p *partition) { p.byKey["gone"] = p.byID.get(id(1)) }, "keys held: 3, want 2"},
		{"dead one holds its key", func(p *partition) { p.byKey["k4"] = p.byID.get(id(4)) }, `is dead but holds the key "k4"`},
		{"dead one not found", func(p *partition) { delete(p.deadKeys, "k4") }, `is dead, but is not found by its key "k4"`},
		{"live one found as dead", func(p *partition) { p.deadKeys.add(p.byID.get(id(2))) }, `is not dead, but is found as such by its key "k2"`},
		{"holder", func(p *partition) { p.byID.get(id(2)).setHolder(1) }, "has a holder that does not hold it"},
		{"key flag", func(p *partition) { p.byID.get(id(2)).setKeyed(false) }, "is marked as having a key, or as having none"},
		{"no history", func(p *partition) { p.byID.get(id(4)).rare = nil }, "dead without a history"},
		{"snoozes", func(p *partition) { p.byID.get(id(4)).rare.history.snoozes = 1 }, "failed 1 times and snoozed 1 times in 1 deliveries, 0 of them of earlier occurrences"},
		{"history", func(p *partition) { p.byID.get(id(4)).rare.history.failures = 2 }, "failed 2 times in 1 deliveries"},
		{"stop", func(p *partition) { p.byID.get(id(1)).extra().stopping = true }, "is to be cancelled but is not leased"},
		{"counters", func(p *partition) { p.counts[countAcked]++ }, "sent less gone: 3, want 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			fillStates(r)
			if found := r.audit(); len(found) > 0 {
				t.Fatalf("before: %v", found)
			}
			tt.damage(r.inner())
			found := r.audit()
			if !strings.Contains(texts(found), tt.want) {
				t.Errorf("got %q, want %q", texts(found), tt.want)
			}
			delete(r.queues, r.p.Queue) // or the rig would find it too
		})
	}
}

// fillStates leaves 1 ready without a key, 2 ready, 3 leased and 4 dead with keys.
func fillStates(r *rig) {
	ms := messages(4)
	for i := range ms[1:] {
		ms[i+1].Key = "k" + string(rune('2'+i))
	}
	r.push(ms[3])
	r.settle(store.Reject, store.Settlement{Receipt: r.claimN(1).Deliveries[0].Receipt})
	r.push(ms[2])
	r.claimN(1)
	r.push(ms[:2]...)
}

func texts(found []store.Problem) string {
	var b strings.Builder
	for _, p := range found {
		b.WriteString(p.ID + " " + p.Text + "; ")
	}
	return b.String()
}

func TestCheck_ExaminesEachMessageOnceInBoundedSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	fillStates(r)
	for limit, steps := range map[int]int{1: 4, 2: 2, 3: 2, 4: 1} {
		got, examined := 0, 0
		for req := (store.CheckRequest{Limit: limit}); ; got++ {
			result, err := r.Check(t.Context(), r.p, req)
			r.must(err)
			examined += result.Examined
			if result.Examined > limit {
				t.Errorf("limit %d: examined %d in a step", limit, result.Examined)
			}
			if req.Cursor = result.Next; req.Cursor == "" {
				break
			}
		}
		if got+1 != steps || examined != 4 {
			t.Errorf("limit %d: %d messages in %d steps, want 4 in %d", limit, examined, got+1, steps)
		}
	}
}
