package embedded

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dueq-dev/dueq/internal/failurelog"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// ends claims the message that is due first and ends its delivery.
func (r *rig) ends(v store.Verdict, text string) {
	r.Helper()
	result, err := r.Claim(r.Context(), r.p, store.ClaimRequest{Consumer: "c", Number: r.next(), Max: 1, Lease: 30_000})
	r.must(err)
	if len(result.Deliveries) != 1 {
		r.Fatalf("%d deliveries, want 1", len(result.Deliveries))
	}
	items := []store.Settlement{{Receipt: result.Deliveries[0].Receipt, Failure: text}}
	_, err = r.Settle(r.Context(), r.p, store.SettleRequest{Verdict: v, Items: items})
	r.must(err)
	r.clock.move(time.Second)
}

// A note has only what is new of the failure texts.
func TestNote_FailureTexts(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := fullRig(t, d)
	m := message(1)
	m.MaxAttempts = 100
	_, err := r.Push(t.Context(), r.p, store.PushRequest{Producer: "p", Number: r.next(), Messages: []store.Message{m}})
	r.must(err)
	long := strings.Repeat("ü", store.MaxFailure/2)
	ends := []struct {
		verdict store.Verdict
		text    string
		kept    int
	}{
		{store.Release, "", 0},
		{store.Nack, "a", 1},
		{store.Nack, "a", 2},
		{store.Nack, "", 2},
		{store.Snooze, "b", 3},
		{store.Nack, long, 4},
		{store.Nack, long, 5},
		{store.Nack, long, 5},
		{store.Nack, "c", 5},
		{store.Again, "", 0},
		{store.Nack, "d", 1},
		{store.Reject, "e", 2},
	}
	for i, end := range ends {
		r.ends(end.verdict, end.text)
		want := r.record(1)
		if len(want.RecentFailures) != end.kept || end.text != "" && want.RecentFailures[0].Attempt != i+1 {
			t.Fatalf("after %s %q: %+v, want %d, the newest of delivery %d", end.verdict, end.text, want.RecentFailures, end.kept, i+1)
		}
		r.reopen(d)
		if diff := cmp.Diff(want, r.record(1)); diff != "" {
			t.Fatalf("after %s %q, opened again (-want +got):\n%s", end.verdict, end.text, diff)
		}
	}
}

func TestNote_FullDiskKeepsTheNewestFailureText(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	d.Capacity = smallDisk
	r := fullRig(t, d)
	_, err := r.Push(t.Context(), r.p, store.PushRequest{Producer: "p", Number: r.next(), Messages: []store.Message{message(1)}})
	r.must(err)
	for range 3 {
		r.ends(store.Nack, "short")
	}
	r.pushUntilFull(2, 10, 8000)
	if !r.log.Scarce() {
		t.Fatal("space is not scarce")
	}
	r.ends(store.Release, "")
	if got := r.record(1).RecentFailures; len(got) != 3 {
		t.Errorf("%+v after a release, which has no space for texts, want all three", got)
	}
	r.ends(store.Nack, strings.Repeat("x", store.MaxFailure))
	if got := r.record(1).RecentFailures; len(got) != 1 || len(got[0].Text) != scarceText || got[0].Attempt != 5 {
		t.Errorf("%+v, want the newest, cut", got)
	}
}

func TestNote_ShortenedHasTheNewestFailureText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(message(1))
	for range 3 {
		r.ends(store.Nack, "short")
	}
	p := r.inner()
	p.mu.Lock()
	p.shorten(p.byID.get(id(1)))
	p.mu.Unlock()
	if got := r.record(1).RecentFailures; len(got) != 1 || got[0].Text != "short" || got[0].Attempt != 3 {
		t.Errorf("%+v, want the newest", got)
	}
}

// A note that was written when a message kept one failure text is read.
func TestNote_WithOneFailureText(t *testing.T) {
	t.Parallel()
	past := history{deliveries: 2, failures: 2, ended: nacked}
	body := append(appendDeliveries(nil, past), byte(len("no luck")+1))
	r := reader{rest: append(body, "no luck"...)}
	got, texts := r.oldNote()
	if r.err != nil || len(r.rest) != 0 || got != past || texts != (noted{kind: textsAlone, text: "no luck"}) {
		t.Errorf("%+v, %+v, %v", got, texts, r.err)
	}
	for size, kind := range []byte{textsSame, textsNone} {
		r := reader{rest: append(appendDeliveries(nil, past), byte(size))}
		if got, texts := r.oldNote(); r.err != nil || got != past || texts.kind != kind {
			t.Errorf("%d: %+v, %+v, %v", size, got, texts, r.err)
		}
	}
	whole := append(appendDeliveries(nil, past), byte(len("no luck")))
	r = reader{rest: append(whole, "no luck"...)}
	if newest, alone := failurelog.Newest(r.history().texts); r.err != nil || !alone || newest.Text != "no luck" {
		t.Errorf("of a message that was put: %+v, %v", newest, r.err)
	}
}
