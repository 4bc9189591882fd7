package dueqhttp_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/dueq-dev/dueq/dueqhttp"
)

// failures is what GET /v1/queues/{queue}/failures answers.
type failures struct {
	Matched int
	Groups  []struct {
		Failure, First, Last, ID string
		Count                    int
	}
	Next string
}

// died sends a message and rejects it.
func (r *rig) died(queue, failure string) {
	r.Helper()
	r.sent(queue, `{"key":`+quoted(failure+"-"+fmt.Sprint(r.stats(queue).Counters.Sent))+`}`)
	d := r.received(queue)
	if got := r.settled(queue, d.Receipt, `"verdict":"reject","reason":`+quoted(failure)); got.Status != http.StatusOK {
		r.Fatalf("reject: %+v", got)
	}
}

func TestFailures_CountsDeadMessagesByFailure(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("PUT", "/v1/queues/hooks", `{}`).want(http.StatusOK)
	for _, failure := range []string{"503", "timeout", "503", "404", "503", "timeout"} {
		r.died("hooks", failure)
	}
	r.sent("hooks", `{}`) // is no dead letter
	var got failures
	r.do("GET", "/v1/queues/hooks/failures", "").want(http.StatusOK).into(&got)
	counts := ""
	for _, g := range got.Groups {
		counts += fmt.Sprintf("%s=%d ", g.Failure, g.Count)
		if g.First == "" || g.Last < g.First || r.get("hooks", g.ID).Failure != g.Failure {
			t.Errorf("group %+v", g)
		}
	}
	if counts != "503=3 timeout=2 404=1 " || got.Matched != 6 {
		t.Errorf("%s of %d", counts, got.Matched)
	}
	got = failures{}
	if r.do("GET", "/v1/queues/hooks/failures?failure=time", "").want(http.StatusOK).into(&got); len(got.Groups) != 1 || got.Matched != 2 {
		t.Errorf("with a filter: %+v", got)
	}
}

func TestFailures_PagesCountEachMessageOnce(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("PUT", "/v1/queues/hooks", `{"partitions":3}`).want(http.StatusOK)
	for i := range 10 {
		r.died("hooks", "failure "+string("ab"[i%2]))
	}
	counts, pages := map[string]int{}, 0
	for cursor := "?limit=2"; cursor != ""; pages++ {
		var got failures
		r.do("GET", "/v1/queues/hooks/failures"+cursor, "").want(http.StatusOK).into(&got)
		if got.Matched > 2 {
			t.Fatalf("a page has %d messages", got.Matched)
		}
		for _, g := range got.Groups {
			counts[g.Failure] += g.Count
		}
		if cursor = ""; got.Next != "" {
			cursor = "?limit=2&cursor=" + got.Next
		}
	}
	if counts["failure a"] != 5 || counts["failure b"] != 5 || pages < 5 {
		t.Errorf("%v on %d pages", counts, pages)
	}
}

func TestFailures_BadRequests(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{}).with("admin")
	r.sent("hooks", `{}`)
	for query, field := range map[string]string{"limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "cursor=!": "cursor", "state=ready": "state", "died=x": "died"} {
		r.do("GET", "/v1/queues/hooks/failures?"+query, "").wantProblem(http.StatusBadRequest, "invalid", field)
	}
	r.do("GET", "/v1/queues/missing/failures", "").wantProblem(http.StatusNotFound, "not_found", "")
}

func TestFailures_TextsThatDifferInNumbersAreAGroup(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("PUT", "/v1/queues/hooks", `{}`).want(http.StatusOK)
	for _, failure := range []string{"order 1 is unknown", "503", "order 22 is unknown", "404"} {
		r.died("hooks", failure)
	}
	var got struct {
		Groups []struct {
			Failure, Group string
			Varied         bool
			Count          int
		}
	}
	r.do("GET", "/v1/queues/hooks/failures", "").want(http.StatusOK).into(&got)
	if len(got.Groups) != 3 || got.Groups[0].Group != "order # is unknown" || !got.Groups[0].Varied || got.Groups[0].Count != 2 || got.Groups[1].Varied {
		t.Errorf("%+v", got)
	}
	var page struct{ Messages []item }
	r.do("GET", "/v1/queues/hooks/messages?state=dead&failure_group=order+3+is+unknown", "").want(http.StatusOK).into(&page)
	if len(page.Messages) != 2 {
		t.Errorf("%d messages are like it, want 2", len(page.Messages))
	}
	var n struct{ Count int }
	r.do("POST", "/v1/queues/hooks/redrive", `{"filter":{"failure_group":"order 1 is unknown"}}`).want(http.StatusOK).into(&n)
	if n.Count != 2 || r.stats("hooks").Dead != 2 {
		t.Errorf("%d redriven, %d are left", n.Count, r.stats("hooks").Dead)
	}
}

func TestList_Recurring(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.sent("work", `{"key":"daily","repeat":"every 24h"}`)
	r.sent("work", `{"key":"once","delay":"1h"}`)
	var page struct{ Messages []item }
	r.do("GET", "/v1/queues/work/messages?recurring=true", "").want(http.StatusOK).into(&page)
	if len(page.Messages) != 1 || page.Messages[0].Key != "daily" {
		t.Errorf("%+v", page.Messages)
	}
	r.do("GET", "/v1/queues/work/messages?recurring=1", "").wantProblem(http.StatusBadRequest, "invalid", "recurring")
}
