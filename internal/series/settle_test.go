package series

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// fakeStore returns the answers that a test sets, and records the requests.
type fakeStore struct {
	store.Store

	now     int64
	answers map[store.Verdict]store.Code // for each item; OK if there is none
	records map[store.ID]store.Record
	asked   []store.SettleRequest
}

func (f *fakeStore) Now(context.Context, store.Partition) (int64, error) { return f.now, nil }

func (f *fakeStore) Get(_ context.Context, _ store.Partition, ref store.Ref) (store.Record, error) {
	if record, ok := f.records[ref.ID]; ok {
		return record, nil
	}
	return store.Record{}, store.ErrNotFound
}

// Settle answers Changed to items whose schedule is not that of the record, if there is one.
func (f *fakeStore) Settle(_ context.Context, _ store.Partition, r store.SettleRequest) ([]store.Code, error) {
	f.asked = append(f.asked, r)
	codes := make([]store.Code, len(r.Items))
	for i, item := range r.Items {
		codes[i] = f.answers[r.Verdict]
		if next := item.Next; next != nil && next.Repeat != f.records[item.Receipt.ID].Repeat {
			codes[i] = store.CodeChanged
		}
	}
	return codes, nil
}

const (
	hourly = "every 1h0m0s"
	daily  = "every 24h0m0s"
	hour   = int64(3_600_000)
	due    = 500_000 * hour
)

// held is a delivery of a recurring message, or of another one if it has no schedule.
func held(schedule string) store.Delivery {
	return store.Delivery{Receipt: store.Receipt{ID: route.NewID(0), Attempt: 3}, Due: due, Repeat: schedule, MaxAttempts: 5, Now: due}
}

// settle settles deliveries with one verdict on a store in which they are leased.
func (f *fakeStore) settle(t *testing.T, v store.Verdict, deliveries ...store.Delivery) []store.Code {
	t.Helper()
	if f.records == nil {
		f.records = map[store.ID]store.Record{}
		for i := range deliveries {
			f.records[deliveries[i].Receipt.ID] = store.Record{Repeat: deliveries[i].Repeat}
		}
	}
	r, parts := store.SettleRequest{Verdict: v}, make([]*Part, len(deliveries))
	for i := range deliveries {
		r.Items = append(r.Items, store.Settlement{Receipt: deliveries[i].Receipt, Failure: "no luck"})
		parts[i] = Of(&deliveries[i])
	}
	codes, err := Settle(t.Context(), f, store.Partition{Queue: "q"}, r, parts)
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

// want fails unless the store was asked for these verdicts, each on that many items, in any order.
func (f *fakeStore) want(t *testing.T, want map[store.Verdict]int) {
	t.Helper()
	got := map[store.Verdict]int{}
	for _, r := range f.asked {
		got[r.Verdict] += len(r.Items)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

func wantCodes(t *testing.T, got []store.Code, want ...store.Code) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v", got, want)
	}
}

func TestSettle_NextTimeIsAfterNowAndAfterTheDueTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ now, want int64 }{
		"in time":                            {due + 1, due + hour},
		"late":                               {due + 5*hour + 1, due + 6*hour},
		"at the next time":                   {due + hour, due + 2*hour},
		"the clock was set back by 10 hours": {due - 10*hour, due + hour},
		"the clock was set back by a minute": {due - 60_000, due + hour},
		"handed out at the same millisecond": {due, due + hour},
	} {
		for _, schedule := range []string{hourly, "cron 0 * * * * UTC"} {
			f := &fakeStore{now: test.now}
			wantCodes(t, f.settle(t, store.Ack, held(schedule)), store.CodeOK)
			f.want(t, map[store.Verdict]int{store.Again: 1})
			if next := f.asked[0].Items[0].Next; next == nil || next.Due != test.want || next.Repeat != schedule {
				t.Errorf("%s, %s: next %+v, want %d", schedule, name, next, test.want)
			}
		}
	}
}

func TestSettle_AckOfACancelledOccurrenceIsDone(t *testing.T) {
	t.Parallel()
	f := &fakeStore{now: due, answers: map[store.Verdict]store.Code{store.Again: store.CodeCancelled, store.Nack: store.CodeCancelled}}
	wantCodes(t, f.settle(t, store.Ack, held(hourly)), store.CodeOK)
	wantCodes(t, f.settle(t, store.Nack, held("")), store.CodeCancelled)
}

func TestSettle_MessagesBesideOccurrences(t *testing.T) {
	t.Parallel()
	answers := map[store.Verdict]store.Code{store.Ack: store.CodeGone, store.Again: store.CodeLeaseLost, store.Reject: store.CodeOK}
	f := &fakeStore{now: due, answers: answers}
	wantCodes(t, f.settle(t, store.Ack, held(""), held(hourly), held("")), store.CodeGone, store.CodeLeaseLost, store.CodeGone)
	f.want(t, map[store.Verdict]int{store.Ack: 2, store.Again: 1})
	f = &fakeStore{now: due, answers: answers}
	wantCodes(t, f.settle(t, store.Reject, held(""), held(hourly)), store.CodeOK, store.CodeOK)
	f.want(t, map[store.Verdict]int{store.Reject: 2})
	f = &fakeStore{now: due}
	f.settle(t, store.Release, held(hourly), held(""))
	f.want(t, map[store.Verdict]int{store.Release: 2})
}

// The id of a letter is that of one delivery: a repetition makes the same letter, the next
// occurrence another.
func TestSettle_EachOccurrenceHasItsOwnLetter(t *testing.T) {
	t.Parallel()
	d := held(hourly)
	seen := map[store.ID]int{}
	for _, attempt := range []int{3, 3, 4, 5} {
		d.Receipt.Attempt = attempt
		for _, v := range []store.Verdict{store.Nack, store.Reject} {
			f := &fakeStore{now: due}
			f.settle(t, v, d)
			item := f.asked[0].Items[0]
			if item.Failure != "no luck" || item.Next == nil || item.Next.Due != due+hour || item.Letter == d.Receipt.ID || item.Letter.Partition() != d.Receipt.ID.Partition() {
				t.Errorf("%s of delivery %d: %+v", v, attempt, item)
			}
			seen[item.Letter]++
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d letters of 3 deliveries", len(seen))
	}
}

func TestSettle_ScheduleThatHasChangedIsComputedAnew(t *testing.T) {
	t.Parallel()
	changed, same, gone := held(hourly), held(hourly), held(hourly)
	f := &fakeStore{now: due, records: map[store.ID]store.Record{
		changed.Receipt.ID: {Repeat: daily}, same.Receipt.ID: {Repeat: hourly},
	}}
	wantCodes(t, f.settle(t, store.Ack, changed, same, gone), store.CodeOK, store.CodeOK, store.CodeGone)
	if len(f.asked) != 2 || len(f.asked[1].Items) != 1 {
		t.Fatalf("asked %d times: %+v", len(f.asked), f.asked)
	}
	if item := f.asked[1].Items[0]; item.Receipt != changed.Receipt || item.Next.Due != due+24*hour || item.Next.Repeat != daily {
		t.Errorf("the second time %+v, want it after a day", item)
	}
}

// changing is a store whose message has another schedule each time.
type changing struct{ *fakeStore }

func (c changing) Get(context.Context, store.Partition, store.Ref) (store.Record, error) {
	return store.Record{Repeat: hourly}, nil
}

func TestSettle_ScheduleThatChangesAgainAndAgain(t *testing.T) {
	t.Parallel()
	d := held(hourly)
	f := &fakeStore{now: due, records: map[store.ID]store.Record{d.Receipt.ID: {Repeat: daily}}}
	r := store.SettleRequest{Verdict: store.Ack, Items: []store.Settlement{{Receipt: d.Receipt}}}
	_, err := Settle(t.Context(), changing{f}, store.Partition{Queue: "q"}, r, []*Part{Of(&d)})
	if !errors.Is(err, store.ErrUnavailable) || len(f.asked) != changes {
		t.Errorf("%v after %d calls, want ErrUnavailable after %d", err, len(f.asked), changes)
	}
}

// When this process cannot compute the next time, the occurrence is released with a delay, for other
// processes. When the schedule has no next time, the series ends.
func TestSettle_ScheduleWithoutANextTime(t *testing.T) {
	t.Parallel()
	for _, v := range []store.Verdict{store.Ack, store.Nack, store.Reject} {
		f := &fakeStore{now: due}
		f.settle(t, v, held("cron 0 9 * * * Mars/Olympus_Mons"))
		f.want(t, map[store.Verdict]int{store.Snooze: 1})
		if item := f.asked[0].Items[0]; item.Delay != RetryAfter.Milliseconds() || !strings.Contains(item.Failure, "Olympus") {
			t.Errorf("%s: %+v, want it put off by %s for its zone", v, item, RetryAfter)
		}
		f = &fakeStore{now: due}
		f.settle(t, v, held("cron 0 0 30 2 * UTC"))
		f.want(t, map[store.Verdict]int{v: 1})
		if item := f.asked[0].Items[0]; item.Next != nil || item.Failure != "no luck" {
			t.Errorf("%s: %+v, want the end of the series", v, item)
		}
	}
}

func TestJudge_ActionForAnOccurrence(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		schedule string
		failures int
		now      int64 // of the claim
		ago      time.Duration
		want     Action
	}{
		{"of a message without a schedule", "", 9, due + 9*hour, 0, Run},
		{"in time", hourly, 0, due, 0, Run},
		{"just before the next time", hourly, 0, due + hour - 1, 0, Run},
		{"at the next time", hourly, 0, due + hour, 0, Skip},
		{"it waited for a worker until the next time", hourly, 0, due + hour - 1, time.Millisecond, Skip},
		{"caught up", hourly + " catch-up", 0, due + 5*hour, 0, Run},
		{"before the last attempt", hourly, 4, due, 0, Run},
		{"without attempts left", hourly, 5, due, 0, Spent},
		{"without attempts left, caught up", hourly + " catch-up", 5, due, 0, Spent},
		{"without attempts left, and missed", hourly, 5, due + hour, 0, Spent},
		{"unreadable", "cron 0 9 * * * Mars/Olympus_Mons", 5, due, 0, Unreadable},
		{"the only time", "cron 0 0 30 2 * UTC", 0, due + 9*hour, 0, Run},
	}
	for _, test := range tests {
		d := held(test.schedule)
		d.Failures, d.Now = test.failures, test.now
		if got, err := Judge(&d, test.ago); got != test.want || (err != nil) != (test.want == Unreadable) {
			t.Errorf("%s: %v, %v, want %v", test.name, got, err, test.want)
		}
	}
}
