package embedded

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dueq-dev/dueq/store"
)

// The count of ready entries follows a clock that goes both ways, through any
// changes and in steps of any size.
func TestStats_CountsReady(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := newTimetable(newOrder())
		var all []*entry
		for n := range rapid.IntRange(1, 60).Draw(t, "operations") {
			if len(all) > 0 && rapid.Bool().Draw(t, "drop") {
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				table.drop(all[i])
				all = slices.Delete(all, i, i+1)
			} else {
				e := &entry{id: id(n), at: rapid.Int64Range(0, 20).Draw(t, "at")}
				table.add(e)
				all = append(all, e)
			}
			now := instant{ms: rapid.Int64Range(0, 20).Draw(t, "now")}
			step := rapid.IntRange(1, 5).Draw(t, "step")
			if rapid.Bool().Draw(t, "count") {
				checkCount(t, &table, all, now, step)
			}
		}
	})
}

func checkCount(t *rapid.T, table *timetable, all []*entry, now instant, step int) {
	for !table.advance(now, step) {
		if table.passed > len(all) {
			t.Fatalf("counted %d of %d", table.passed, len(all))
		}
	}
	want := 0
	for _, e := range all {
		if now.reached(e.at) {
			want++
		}
	}
	if table.passed != want || table.len() != len(all) {
		t.Fatalf("at %d: %d ready of %d, want %d of %d", now.ms, table.passed, table.len(), want, len(all))
	}
}

func TestStats_ScheduledAndReadyAreSeparate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ms := messages(10)
	for i := range ms {
		ms[i].Due = epoch + int64(i)
	}
	r.push(ms...)
	for _, tt := range []struct {
		move                   time.Duration
		ready, scheduled, late int64
	}{{0, 1, 9, 0}, {3 * time.Millisecond, 4, 6, 3}, {-time.Millisecond, 3, 7, 2}, {time.Second, 10, 0, 1002}} {
		r.clock.move(tt.move)
		s := r.stats()
		if s.Ready != tt.ready || s.Scheduled != tt.scheduled || s.OldestReady != tt.late {
			t.Errorf("after %v: ready %d, scheduled %d, oldest %d, want %+v", tt.move, s.Ready, s.Scheduled, s.OldestReady, tt)
		}
	}
}

func TestList_StatesDoNotOverlap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ms := messages(30)
	for i := range ms {
		ms[i].Due = epoch + int64(i/10) // 10 ready, 20 scheduled
	}
	r.push(ms...)
	for state, want := range map[store.State][]int{store.Ready: upTo(10), store.Scheduled: upTo(30)[10:]} {
		var got []int
		for req := (store.ListRequest{State: state, Limit: 3}); ; {
			page, err := r.List(t.Context(), r.p, req)
			r.must(err)
			for _, record := range page.Records {
				got = append(got, numbers([]store.Delivery{{Receipt: store.Receipt{ID: record.ID}}})...)
			}
			if req.Cursor = page.Next; req.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", state, got, want)
		}
	}
}

func TestList_PageIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := range 3 {
		m := message(n + 1)
		m.Body = make([]byte, store.MaxBatchBytes)
		r.push(m)
	}
	page, err := r.List(t.Context(), r.p, store.ListRequest{State: store.Ready, Limit: 10, BodyLimit: store.MaxBody})
	r.must(err)
	if len(page.Records) != 1 || page.Next == "" {
		t.Errorf("%d records, next %q: want one, and a cursor", len(page.Records), page.Next)
	}
}
