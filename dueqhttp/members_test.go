package dueqhttp_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/store"
)

// allMembers is what GET /v1/members answers.
type allMembers struct {
	Members []struct {
		Queue, Name, Client string
		OnDuty              []int `json:"on_duty"`
		Trial               bool
	}
	Next string
}

// consumed reports a consumer for each of some queues.
func (r *rig) consumed(queues ...string) {
	r.Helper()
	started := make([]store.Member, len(queues))
	for i, queue := range queues {
		r.sent(queue, `{"delay":"1h"}`)
		started[i] = store.Member{Queue: queue, Consumer: "of-" + queue}
	}
	if _, err := r.client.Store().Beat(r.Context(), store.BeatRequest{Client: "mailer", TTL: 60_000, Trial: started}); err != nil {
		r.Fatal(err)
	}
}

func TestAllMembers_PagesHaveTheConsumersOfEachQueueOnce(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.consumed("a", "c", "d", "e")
	r.sent("b", `{}`) // which nobody consumes
	found, pages := "", 0
	for query, more := "?limit=2", true; more; pages++ {
		var got allMembers
		r.do("GET", "/v1/members"+query, "").want(http.StatusOK).into(&got)
		for _, m := range got.Members {
			found += fmt.Sprintf("%s:%s:%s:%v ", m.Queue, m.Client, m.Name, m.Trial)
		}
		query, more = "?limit=2&after="+got.Next, got.Next != ""
	}
	if want := "a:mailer:of-a:true c:mailer:of-c:true d:mailer:of-d:true e:mailer:of-e:true "; found != want || pages != 3 {
		t.Errorf("%s on %d pages, want %son 3", found, pages, want)
	}
	for query, field := range map[string]string{"limit=0": "limit", "limit=501": "limit", "limit=x": "limit", "x=1": "x"} {
		r.do("GET", "/v1/members?"+query, "").wantProblem(http.StatusBadRequest, "invalid", field)
	}
}

func TestAllMembers_OnlyThoseOfQueuesThatTheTokenMayRead(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{})
	r.with("admin").consumed("a", "mail-in", "post", "z")
	var got allMembers
	r.with("mail").do("GET", "/v1/members", "").want(http.StatusOK).into(&got)
	if len(got.Members) != 2 || got.Members[0].Queue != "mail-in" || got.Members[1].Queue != "post" {
		t.Errorf("%+v", got)
	}
	got = allMembers{}
	r.with("mail").do("GET", "/v1/members?limit=1", "").want(http.StatusOK).into(&got)
	if len(got.Members) != 1 || got.Next != "mail-in" {
		t.Errorf("a page of one queue: %+v", got)
	}
	r.with("produce").do("GET", "/v1/members", "").wantProblem(http.StatusForbidden, "forbidden", "")
}
