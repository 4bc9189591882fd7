package dueq_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// mixed fills three partitions with messages in every state, and returns how many.
func (r *rig) mixed() int {
	r.Helper()
	r.split(3)
	r.fill(40, dueq.Message{Key: "", Body: []byte("dead")})
	r.kill()
	r.fill(20, dueq.Message{Body: []byte("leased")})
	held, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{Max: 500})
	r.must(err)
	more, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{Max: 500})
	r.must(err)
	last, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{Max: 500})
	r.must(err)
	if n := len(held) + len(more) + len(last); n != 20 {
		r.Fatalf("received %d, want 20", n)
	}
	r.fill(30, dueq.Message{Body: []byte("ready")})
	for i := range 100 {
		r.send(dueq.Message{Key: fmt.Sprintf("k%d", i), Body: []byte("scheduled"), Delay: time.Duration(i+1) * time.Second})
	}
	return 190
}

func TestMessages_WalksAllPagesPartitionsAndStates(t *testing.T) {
	inBubble(t, func(r *rig) {
		total := r.mixed()
		seen, states := map[string]bool{}, []dueq.State(nil)
		for m, err := range r.q.Messages(r.Context(), dueq.ListOptions{Limit: 7, BodyLimit: 4}) {
			r.must(err)
			if seen[m.ID] || string(m.Body) != string(m.State[:4]) || m.BodySize != len(m.State) {
				r.Fatalf("seen before: %t, %+v", seen[m.ID], m)
			}
			seen[m.ID] = true
			if len(states) == 0 || states[len(states)-1] != m.State {
				states = append(states, m.State)
			}
		}
		if want := []dueq.State{dueq.Scheduled, dueq.Ready, dueq.Leased, dueq.Dead}; len(seen) != total || !slices.Equal(states, want) {
			r.Errorf("%d messages in the order %v, want %d in %v", len(seen), states, total, want)
		}
		n := 0
		o := dueq.ListOptions{Filter: dueq.Filter{Key: "k1?"}, Limit: 7}
		for m, err := range r.q.Messages(r.Context(), o) {
			r.must(err)
			n++
			if len(m.Key) != 3 || m.Body != nil {
				r.Errorf("%+v", m)
			}
		}
		if n != 10 {
			r.Errorf("%d messages with keys k1?, want 10", n)
		}
	})
}

func TestList_PagesInEachState(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.mixed()
		for state, want := range map[dueq.State]int{dueq.Scheduled: 100, dueq.Ready: 30, dueq.Leased: 20, dueq.Dead: 40} {
			n := 0
			for o := (dueq.ListOptions{Filter: dueq.Filter{State: state}, Limit: 9}); ; {
				page, err := r.q.List(r.Context(), o)
				r.must(err)
				if len(page.Records) > 9 {
					r.Fatalf("a page of %d", len(page.Records))
				}
				n += len(page.Records)
				if o.Cursor = page.Next; o.Cursor == "" {
					break
				}
			}
			if n != want {
				r.Errorf("%d %s messages, want %d", n, state, want)
			}
		}
		soon := dueq.Filter{Due: dueq.TimeRange{To: time.Now().Add(10 * time.Second)}}
		n := 0
		for m, err := range r.q.Messages(r.Context(), dueq.ListOptions{Filter: soon}) {
			r.must(err)
			if n++; m.State != dueq.Scheduled && m.State != dueq.Ready {
				r.Errorf("%+v has no due time", m)
			}
		}
		if n != 9+30 {
			r.Errorf("%d messages are due within 10 s, want 39", n)
		}
	})
}

func TestList_RangeIsReadFromItsBeginning(t *testing.T) {
	inBubble(t, func(r *rig) {
		for i := range store.MaxBatch + 10 {
			r.send(dueq.Message{Key: fmt.Sprintf("k%d", i), Delay: time.Duration(i+1) * time.Second})
		}
		last := dueq.Filter{State: dueq.Scheduled, Due: dueq.TimeRange{From: time.Now().Add((store.MaxBatch + 1) * time.Second)}}
		page, err := r.q.List(r.Context(), dueq.ListOptions{Filter: last, Limit: 20})
		r.must(err)
		if len(page.Records) != 10 || page.Records[0].Key != "k500" || page.Next != "" {
			r.Errorf("%d messages, then %q, want the last 10", len(page.Records), page.Next)
		}
		before := r.net.count("list")
		n, err := r.q.Purge(r.Context(), last, &dueq.BulkOptions{DryRun: true})
		r.must(err)
		if calls := r.net.count("list") - before; n != 10 || calls != 1 {
			r.Errorf("%d messages match in %d calls, want 10 in 1", n, calls)
		}
		for _, from := range []time.Time{time.Unix(-1, 0), time.Unix(1<<40, 0)} { // no instants of the store
			_, err := r.q.List(r.Context(), dueq.ListOptions{Filter: dueq.Filter{Due: dueq.TimeRange{From: from}}})
			r.must(err)
		}
	})
}

// A page is read in steps of at most 250 messages, and goes on in the next partition and state.
func TestList_PageIsReadInSteps(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.mixed()
		list := func(o dueq.ListOptions, messages, calls int) dueq.Page {
			r.Helper()
			before := r.net.count("list")
			page, err := r.q.List(r.Context(), o)
			r.must(err)
			if n := r.net.count("list") - before; len(page.Records) != messages || n != calls {
				r.Errorf("%+v: %d messages in %d calls, want %d in %d", o, len(page.Records), n, messages, calls)
			}
			return page
		}
		if page := list(dueq.ListOptions{Limit: 1000}, 190, 4*3); page.Next != "" {
			r.Errorf("all messages are there, and yet a next page %q", page.Next)
		}
		page := list(dueq.ListOptions{Filter: dueq.Filter{State: dueq.Scheduled}, Limit: 70}, 70, 3)
		list(dueq.ListOptions{Filter: dueq.Filter{State: dueq.Scheduled}, Limit: 70, Cursor: page.Next}, 30, 1)
		page = list(dueq.ListOptions{Filter: dueq.Filter{State: dueq.Scheduled, Key: "k1?"}, Limit: 95}, 10, 3)
		if page.Next == "" {
			r.Error("a page that has examined 95 of 100 messages has no next one")
		}
	})
}

func TestList_NoStepExaminesMoreThan250(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(1)
		r.fill(260, dueq.Message{})
		before := r.net.count("list")
		page, err := r.q.List(r.Context(), dueq.ListOptions{Limit: 260})
		r.must(err)
		if calls := r.net.count("list") - before; len(page.Records) != 260 || calls != 1+2 {
			r.Errorf("%d messages in %d calls, want 260 in 3, one of them for those that are scheduled", len(page.Records), calls)
		}
	})
}

// A call of the store returns about 1 MiB of bodies, and so does a page, though more may be examined.
func TestList_PageOfLargeBodiesIsOneStep(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.split(1)
		r.fill(12, dueq.Message{Body: make([]byte, 250<<10)})
		before := r.net.count("list")
		page, err := r.q.List(r.Context(), dueq.ListOptions{Filter: dueq.Filter{State: dueq.Ready}, BodyLimit: 1 << 20})
		r.must(err)
		if calls := r.net.count("list") - before; calls != 1 || len(page.Records) != 5 || page.Next == "" {
			r.Errorf("%d messages in %d calls, then %q, want 5 in 1", len(page.Records), calls, page.Next)
		}
	})
}

func TestMessages_EndsEarly(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.mixed()
		n := 0
		for _, err := range r.q.Messages(r.Context(), dueq.ListOptions{Limit: 10}) {
			r.must(err)
			if n++; n == 5 {
				break
			}
		}
		if calls := r.net.count("list"); n != 5 || calls != 1 {
			r.Errorf("%d messages in %d calls, want 5 in 1", n, calls)
		}
	})
}

func TestMessages_AnErrorEndsItOnce(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.mixed()
		n, failures := 0, 0
		for m, err := range r.q.Messages(r.Context(), dueq.ListOptions{Limit: 10}) {
			if err == nil {
				n++
				r.net.set(always(refused, "list"))
				continue
			}
			if failures++; !errors.Is(err, store.ErrUnavailable) || m.ID != "" {
				r.Errorf("%+v, %v", m, err)
			}
		}
		if n != 10 || failures != 1 {
			r.Errorf("%d messages and %d errors, want 10 and 1", n, failures)
		}
		r.net.set(nil)
		failures = 0
		for _, err := range r.q.Messages(r.Context(), dueq.ListOptions{Filter: dueq.Filter{Key: "["}}) {
			failures++
			wantInvalid(r.T, err, "key")
		}
		if failures != 1 {
			r.Errorf("%d errors, want 1", failures)
		}
	})
}
