package dueqhttp_test

import (
	"net/http"
	"slices"
	"testing"
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
