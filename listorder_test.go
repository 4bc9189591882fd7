package dueq_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// sorted returns all messages of a list, read in pages.
func (r *rig) sorted(o dueq.ListOptions) []dueq.Record {
	r.Helper()
	var all []dueq.Record
	for {
		page, err := r.q.List(r.Context(), o)
		r.must(err)
		all = append(all, page.Records...)
		if len(page.Records) > o.Limit || len(all) > 1000 {
			r.Fatalf("%+v: a page of %d, %d in all", o, len(page.Records), len(all))
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			return all
		}
	}
}

func TestList_OrderIsThatOfTimeOverPartitionsAndStates(t *testing.T) {
	inBubble(t, func(r *rig) {
		total := r.mixed()
		for state, n := range map[dueq.State]int{"": total, dueq.Scheduled: 100, dueq.Ready: 30, dueq.Leased: 20, dueq.Dead: 40, dueq.Done: 0} {
			for _, limit := range []int{1, 7, 50, 1000} {
				o := dueq.ListOptions{Filter: dueq.Filter{State: state}, Limit: limit, Order: dueq.Ascending}
				up := r.sorted(o)
				o.Order = dueq.Descending
				down := r.sorted(o)
				seen := map[string]bool{}
				for _, m := range down {
					seen[m.ID] = true
				}
				if len(up) != n || len(down) != n || len(seen) != n {
					r.Errorf("%q in pages of %d: %d ascending, %d descending, %d different, want %d", state, limit, len(up), len(down), len(seen), n)
				}
				if !slices.IsSortedFunc(up, func(a, b dueq.Record) int { return a.At.Compare(b.At) }) ||
					!slices.IsSortedFunc(down, func(a, b dueq.Record) int { return b.At.Compare(a.At) }) {
					r.Errorf("%q in pages of %d is out of order", state, limit)
				}
			}
		}
	})
}

// Messages of one instant are in several partitions; one that stays is listed once, while others come
// and go, also the one at the cursor.
func TestList_OrderWhileMessagesComeAndGo(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(3)
		at := time.Now().Add(time.Hour)
		for _, order := range []dueq.Order{dueq.Ascending, dueq.Descending} {
			stay := map[string]bool{}
			for i := range 60 {
				r.send(dueq.Message{Key: fmt.Sprintf("%s-%d", order, i), Due: at})
				stay[fmt.Sprintf("%s-%d", order, i)] = true
			}
			seen := map[string]int{}
			for o := (dueq.ListOptions{Filter: dueq.Filter{Key: string(order) + "-*"}, Limit: 7, Order: order}); ; {
				page, err := r.q.List(r.Context(), o)
				r.must(err)
				for _, m := range page.Records {
					seen[m.Key]++
				}
				if o.Cursor = page.Next; o.Cursor == "" {
					break
				}
				last := page.Records[len(page.Records)-1]
				r.must(r.q.Cancel(r.Context(), dueq.ID(last.ID)))
				r.send(dueq.Message{Key: fmt.Sprintf("other-%s-%d", order, len(seen)), Due: at})
			}
			for key := range stay {
				if seen[key] != 1 {
					r.Errorf("%s was seen %d times, want once", key, seen[key])
				}
			}
			_, err := r.q.Purge(r.Context(), dueq.Filter{State: dueq.Scheduled}, nil)
			r.must(err)
		}
	})
}

func TestList_OrderInARange(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(3)
		now := time.Now()
		for i := range 100 {
			r.send(dueq.Message{Key: fmt.Sprintf("k%d", i), Due: now.Add(time.Duration(i+1) * time.Second)})
		}
		due := dueq.TimeRange{From: now.Add(20 * time.Second), To: now.Add(30 * time.Second)}
		for order, want := range map[dueq.Order][2]string{dueq.Ascending: {"k19", "k28"}, dueq.Descending: {"k28", "k19"}} {
			for _, limit := range []int{1, 3, 100} {
				before := r.net.count("list")
				got := r.sorted(dueq.ListOptions{Filter: dueq.Filter{State: dueq.Scheduled, Due: due}, Limit: limit, Order: order})
				if len(got) != 10 || got[0].Key != want[0] || got[9].Key != want[1] {
					r.Errorf("%s in pages of %d: %d messages, want ten from %s to %s", order, limit, len(got), want[0], want[1])
				}
				if calls := r.net.count("list") - before; limit == 100 && calls != 3 {
					r.Errorf("%s: %d calls, want one for each partition", order, calls)
				}
			}
		}
	})
}

func TestList_CallsOfASortedPageAreBounded(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.mixed()
		for _, limit := range []int{10, 50, 190} {
			before := r.net.count("list")
			page, err := r.q.List(r.Context(), dueq.ListOptions{Limit: limit, Order: dueq.Descending})
			r.must(err)
			if calls := r.net.count("list") - before; len(page.Records) != limit || calls > 5*3+limit/8 {
				r.Errorf("%d messages in %d calls, want %d in at most %d", len(page.Records), calls, limit, 5*3+limit/8)
			}
		}
	})
}

func TestList_SortedPageOfLargeBodiesEnds(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(3)
		r.fill(24, dueq.Message{Body: make([]byte, 250<<10)})
		o := dueq.ListOptions{Filter: dueq.Filter{State: dueq.Ready}, BodyLimit: 1 << 20, Limit: 100, Order: dueq.Descending}
		page, err := r.q.List(r.Context(), o)
		r.must(err)
		if len(page.Records) != 5 || page.Next == "" {
			r.Errorf("%d messages, then %q, want 5 and more", len(page.Records), page.Next)
		}
		if all := r.sorted(o); len(all) != 24 {
			r.Errorf("%d messages, want 24", len(all))
		}
	})
}

func TestList_CursorOfAnotherOrderIsRefused(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.mixed()
		orders := []dueq.Order{"", dueq.Ascending, dueq.Descending}
		for _, order := range orders {
			page, err := r.q.List(r.Context(), dueq.ListOptions{Limit: 3, Order: order})
			r.must(err)
			for _, other := range orders {
				_, err := r.q.List(r.Context(), dueq.ListOptions{Limit: 3, Order: other, Cursor: page.Next})
				if other == order {
					r.must(err)
				} else {
					wantInvalid(r.T, err, "cursor")
				}
			}
		}
		for _, cursor := range []string{"DESC", "DESC1", "DESC1.", "DESC.s0.", "DESC-1.s0.x", "DESC1.x0.x", "DESC1.s9.x", "DESC1.s0.", "ASC1.s0.x"} {
			_, err := r.q.List(r.Context(), dueq.ListOptions{Order: dueq.Descending, Cursor: cursor})
			wantInvalid(r.T, err, "cursor")
		}
		_, err := r.q.List(r.Context(), dueq.ListOptions{Order: "newest"})
		wantInvalid(r.T, err, "order")
		_, err = r.q.List(r.Context(), dueq.ListOptions{Order: dueq.Ascending, Limit: store.MaxListLimit + 1})
		wantInvalid(r.T, err, "limit")
	})
}
