package dueqhttp_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// settled settles a delivery, and returns its result.
func (r *rig) settled(queue, receipt, members string) item {
	r.Helper()
	var got struct{ Results []item }
	r.do("POST", "/v1/queues/"+queue+"/settle", fmt.Sprintf(`{"verdicts":[{"receipt":%q,%s}]}`, receipt, members)).into(&got)
	if len(got.Results) != 1 {
		r.Fatalf("%d results, want 1", len(got.Results))
	}
	return got.Results[0]
}

func TestSettle_EachVerdict(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for members, want := range map[string]struct {
		state, failure, body string
	}{
		`"verdict":"ack"`: {},
		`"verdict":"nack","delay":"1h","reason":"timeout"`:               {"scheduled", "timeout", "1"},
		`"verdict":"nack","reason":"timeout"`:                            {"scheduled", "timeout", "1"},
		`"verdict":"nack"`:                                               {"scheduled", "", "1"},
		`"verdict":"release"`:                                            {"ready", "", "1"},
		`"verdict":"release","delay":"1h"`:                               {"scheduled", "", "1"},
		`"verdict":"snooze","delay":"1h","reason":"busy"`:                {"scheduled", "snoozed: busy", "1"},
		`"verdict":"reject","reason":"bad"`:                              {"dead", "bad", "1"},
		`"verdict":"again","delay":"1h"`:                                 {"scheduled", "", "1"},
		`"verdict":"again","due":"2031-01-01T00:00:00Z","body":"2"`:      {"scheduled", "", "2"},
		`"verdict":"again","delay":"1h","body_json":{"n": 2},"ttl":"2h"`: {"scheduled", "", `{"n": 2}`},
		`"verdict":"extend","lease":"1h"`:                                {"leased", "", "1"},
		`"verdict":"next","messages":[{"body":"2"},{"queue":"mail"}]`:    {},
	} {
		id := r.sent("work", `{"body":"1"}`)
		d := r.received("work")
		if got := r.settled("work", d.Receipt, members); got.Status != http.StatusOK || got.ID != id {
			t.Errorf("%s: %+v", members, got)
		}
		if want.state == "" {
			r.do("GET", "/v1/queues/work/messages/"+id, "").wantProblem(http.StatusNotFound, "not_found", "")
		} else if got := r.get("work", id); got.State != want.state || got.Failure != want.failure || got.Body != want.body {
			t.Errorf("%s: %+v, want %+v", members, got, want)
		}
		if want.failure != "" {
			if got := r.get("work", id).RecentFailures; len(got) != 1 || got[0].Text != want.failure || got[0].Attempt != 1 || got[0].At == "" {
				t.Errorf("%s: recent failures %+v, want %q", members, got, want.failure)
			}
		}
		r.do("DELETE", "/v1/queues/work?force=true", "").want(http.StatusNoContent)
	}
	if s := r.stats("mail"); s.Ready != 1 {
		t.Errorf("next has sent %d messages to the other queue, want 1", s.Ready)
	}
}

func TestSettle_NackHasTheBackoffOfTheQueue(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("PUT", "/v1/queues/work", `{"backoff":{"base":"1000h","most":"1000h"}}`).want(http.StatusOK)
	id := r.sent("work", `{}`)
	r.settled("work", r.received("work").Receipt, `"verdict":"nack","reason":"no"`)
	due, err := time.Parse(time.RFC3339, r.get("work", id).Due)
	if err != nil || time.Until(due) < 20*time.Second {
		t.Errorf("due %s (%v), want a part of 1000h, and not the default of 16s", due, err)
	}
}

func TestSettle_ResultsOfABatch(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.sent("work", `{"body":"1"}`)
	first := r.received("work")
	r.settled("work", first.Receipt, `"verdict":"release"`)
	second := r.received("work")
	r.sent("other", `{}`)
	foreign := r.received("other")
	verdict := func(receipt, members string) string { return fmt.Sprintf(`{"receipt":%q,%s}`, receipt, members) }
	var got struct{ Results []item }
	r.do("POST", "/v1/queues/work/settle", `{"verdicts":[`+strings.Join([]string{
		verdict(first.Receipt, `"verdict":"nack"`),
		verdict(second.Receipt, `"verdict":"extend","lease":"1h"`),
		verdict(foreign.Receipt, `"verdict":"ack"`),
		verdict("forged", `"verdict":"ack"`),
		verdict(second.Receipt, `"verdict":"ackk"`),
		verdict(second.Receipt, `"verdict":"ack","delay":"1s"`),
		verdict(second.Receipt, `"verdict":"extend","lease":"13h"`),
		verdict(second.Receipt, `"verdict":"extend"`),
		verdict(second.Receipt, `"verdict":"next"`),
		verdict(second.Receipt, `"verdict":"release","delay":"x"`),
	}, ",")+`]}`).want(http.StatusMultiStatus).into(&got)
	for i, want := range []struct {
		status      int
		code, field string
	}{
		{409, "lease_lost", ""},
		{200, "", ""},
		{400, "invalid", "receipt"},
		{400, "invalid", "receipt"},
		{400, "invalid", "verdict"},
		{400, "invalid", "delay"},
		{400, "invalid", "lease"},
		{400, "invalid", "lease"},
		{400, "invalid", "messages"},
		{400, "invalid", "delay"},
	} {
		if g := got.Results[i]; g.Status != want.status || g.Code != want.code || g.Field != want.field {
			t.Errorf("result %d: %+v, want %+v", i, g, want)
		}
	}
	for range 2 { // an ack can be repeated
		if g := r.settled("work", second.Receipt, `"verdict":"ack"`); g.Status != http.StatusOK {
			t.Errorf("ack: %+v", g)
		}
	}
	if g := r.settled("other", foreign.Receipt, `"verdict":"ack"`); g.Status != http.StatusOK {
		t.Errorf("ack in its own queue: %+v", g)
	}
}

func TestSettle_ManyVerdictsShareCalls(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("POST", "/v1/queues/work/batch", `{"messages":[`+strings.Repeat("{},", 499)+`{}]}`).want(http.StatusCreated)
	var got struct{ Deliveries []item }
	r.do("POST", "/v1/queues/work/receive", `{"max":500}`).want(http.StatusOK).into(&got)
	var b bytes.Buffer
	for i, d := range got.Deliveries {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"receipt":%q,"verdict":%q}`, d.Receipt, []string{"ack", "reject"}[i%2])
	}
	r.do("POST", "/v1/queues/work/settle", `{"verdicts":[`+b.String()+`]}`).want(http.StatusOK)
	if s := r.stats("work"); s.Counters.Acked != 250 || s.Dead != 250 || s.Leased != 0 {
		t.Errorf("%d acked, %d dead, %d leased", s.Counters.Acked, s.Dead, s.Leased)
	}
}

// settlements counts the calls that settle.
type settlements struct {
	store.Store
	calls atomic.Int64
}

func (s *settlements) Settle(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	s.calls.Add(1)
	return s.Store.Settle(ctx, p, r)
}

func TestSettle_ManyAcksAreOneCallWithTheirOwnResults(t *testing.T) {
	t.Parallel()
	counted := &settlements{Store: embedded.NewMemory(embedded.Config{})}
	r := serveOver(t, counted, nil)
	receive := func(queue string, n int) []item {
		r.do("POST", "/v1/queues/"+queue+"/batch", `{"messages":[`+strings.Repeat("{},", n-1)+`{}]}`).want(http.StatusCreated)
		var got struct{ Deliveries []item }
		r.do("POST", "/v1/queues/"+queue+"/receive", fmt.Sprintf(`{"max":%d}`, n)).want(http.StatusOK).into(&got)
		return got.Deliveries
	}
	outdated := receive("work", 1)[0]
	r.settled("work", outdated.Receipt, `"verdict":"release"`)
	all := receive("work", 31)
	all = append(append(all[1:], outdated, receive("other", 1)[0]), all[6], all[7]) // all[0] is the message of outdated
	var b strings.Builder
	for i, d := range all {
		fmt.Fprintf(&b, `,{"receipt":%q,"verdict":"ack"%s}`, d.Receipt, map[int]string{5: `,"delay":"1s"`}[i])
	}
	before := counted.calls.Load()
	var got struct{ Results []item }
	r.do("POST", "/v1/queues/work/settle", `{"verdicts":[`+b.String()[1:]+`]}`).want(http.StatusMultiStatus).into(&got)
	wrong := map[int]string{5: "invalid", 30: "lease_lost", 31: "invalid"}
	for i, g := range got.Results {
		if want := wrong[i]; g.Code != want || want == "" && (g.Status != http.StatusOK || g.ID != all[i].ID) {
			t.Errorf("result %d: %+v, want %q", i, g, want)
		}
	}
	if calls := counted.calls.Load() - before; calls > 3 {
		t.Errorf("%d calls, want one for the acks, and at most one for each of the two that were given twice", calls)
	}
	if s := r.stats("work"); s.Counters.Acked != 30 || s.Leased != 1 {
		t.Errorf("%d acked, %d leased, want 30, and the message of the outdated receipt", s.Counters.Acked, s.Leased)
	}
}
