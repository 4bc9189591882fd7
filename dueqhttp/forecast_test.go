package dueqhttp_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/dueq-dev/dueq/dueqhttp"
)

func TestForecast_OfAQueue(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for _, delay := range []string{"0s", "30m", "90m", "90m", "5h"} {
		r.sent("orders", `{"delay":"`+delay+`"}`)
	}
	var got struct {
		Step         string
		Ready, Later int64
		Counts       []int64
	}
	r.do("GET", "/v1/queues/orders/forecast?step=1h&spans=3", "").want(http.StatusOK).into(&got)
	if got.Step != "1h0m0s" || got.Ready != 1 || !slices.Equal(got.Counts, []int64{1, 2, 0}) || got.Later != 1 {
		t.Errorf("%+v", got)
	}
	r.do("GET", "/v1/queues/orders/forecast", "").want(http.StatusOK).into(&got)
	if got.Step != "1m0s" || len(got.Counts) != 60 || got.Later != 3 {
		t.Errorf("the minutes of an hour: %+v", got)
	}
	for query, field := range map[string]string{"step=1": "step", "step=0s": "step", "step=1000d": "step", "spans=0": "spans", "spans=101": "spans", "spans=1e9": "spans", "x=1": "x"} {
		r.do("GET", "/v1/queues/orders/forecast?"+query, "").wantProblem(http.StatusBadRequest, "invalid", field)
	}
	r.do("GET", "/v1/queues/missing/forecast", "").wantProblem(http.StatusNotFound, "not_found", "")
}

// allForecast is what GET /v1/forecast answers.
type allForecast struct {
	Step         string
	Queues       int
	Ready, Later int64
	Counts       []int64
	Next         string
}

func TestAllForecast_PagesHaveEachQueueOnce(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for i, queue := range []string{"a", "b", "c", "d", "e"} {
		for range i + 1 {
			r.sent(queue, `{"delay":"30m"}`)
		}
	}
	r.sent("b", `{}`)
	r.sent("e", `{"delay":"90m"}`)
	r.sent("e", `{"delay":"90h"}`)
	sum, pages := allForecast{Counts: make([]int64, 2)}, 0
	for query, more := "", true; more; pages++ {
		var got allForecast
		r.do("GET", "/v1/forecast?step=1h&spans=2&limit=2"+query, "").want(http.StatusOK).into(&got)
		if len(got.Counts) != 2 || got.Step != "1h0m0s" {
			t.Fatalf("%+v", got)
		}
		sum.Queues, sum.Ready, sum.Later = sum.Queues+got.Queues, sum.Ready+got.Ready, sum.Later+got.Later
		for i, n := range got.Counts {
			sum.Counts[i] += n
		}
		query, more = "&after="+got.Next, got.Next != ""
	}
	if pages != 3 || sum.Queues != 5 || sum.Ready != 1 || sum.Later != 1 || !slices.Equal(sum.Counts, []int64{15, 1}) {
		t.Errorf("%+v on %d pages", sum, pages)
	}
	var some allForecast
	r.do("GET", "/v1/forecast?queue=a&queue=[d-e]", "").want(http.StatusOK).into(&some)
	if some.Queues != 3 || some.Counts[29]+some.Counts[30] != 10 || len(some.Counts) != 60 {
		t.Errorf("of three queues, the minutes of an hour: %+v", some)
	}
	for query, field := range map[string]string{"limit=0": "limit", "limit=501": "limit", "step=0s": "step", "spans=101": "spans", "step=1000d": "step", "queue=[": "queue", "x=1": "x"} {
		r.do("GET", "/v1/forecast?"+query, "").wantProblem(http.StatusBadRequest, "invalid", field)
	}
}

func TestAllForecast_OnlyOfQueuesThatTheTokenMayRead(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{})
	for _, queue := range []string{"a", "mail-in", "post", "z"} {
		r.with("admin").sent(queue, `{"delay":"30m"}`)
	}
	var got allForecast
	r.with("mail").do("GET", "/v1/forecast?step=1h&spans=1", "").want(http.StatusOK).into(&got)
	if got.Queues != 2 || got.Counts[0] != 2 {
		t.Errorf("%+v", got)
	}
	r.with("mail").do("GET", "/v1/forecast?queue=a", "").wantProblem(http.StatusForbidden, "forbidden", "")
	r.with("produce").do("GET", "/v1/forecast", "").wantProblem(http.StatusForbidden, "forbidden", "")
}
