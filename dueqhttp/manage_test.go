package dueqhttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/dueqhttp"
)

// counted is the answer to a request about many messages.
type counted struct {
	Count  int
	DryRun bool `json:"dry_run"`
	Errors []item
}

// dead makes dead letters with some keys.
func (r *rig) dead(queue string, keys ...string) {
	r.Helper()
	for _, key := range keys {
		r.sent(queue, `{"key":`+quoted(key)+`,"body":"héllo"}`)
		r.settled(queue, r.received(queue).Receipt, `"verdict":"reject","reason":"timeout"`)
	}
}

func (r *rig) count(path, body string) counted {
	r.Helper()
	var c counted
	r.do("POST", path, body).want(http.StatusOK).into(&c)
	return c
}

func TestList_PagesAndFilters(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.dead("work", "a-1", "a-2", "b-1")
	r.sent("work", `{"headers":{"tenant":"7"},"delay":"1h"}`)
	var keys []string
	listed, pages := r.list("work", "state=dead&limit=2&body_limit=2")
	for _, m := range listed {
		keys = append(keys, m.Key)
		if m.Body != "h" || m.BodySize != 6 || m.State != "dead" || m.Failure != "timeout" {
			t.Errorf("listed %+v", m)
		}
	}
	if strings.Join(keys, " ") != "a-1 a-2 b-1" || pages != 2 {
		t.Errorf("listed %v in %d pages, want 2", keys, pages)
	}
	for query, want := range map[string]int{
		"": 4, "key=a-*": 2, "state=dead&failure=time": 3, "header=tenant%3D7": 1, "header=tenant%3D8": 0,
		"due=30m..2h": 1, "due=..30m": 0, "died=-1h..": 3, "min_attempts=1": 3, "min_attempts=2": 0,
	} {
		if listed, _ := r.list("work", query); len(listed) != want {
			t.Errorf("%q lists %d messages, want %d", query, len(listed), want)
		}
	}
}

// list returns all messages of a list, and the number of its pages.
func (r *rig) list(queue, query string) (all []item, pages int) {
	r.Helper()
	for cursor := ""; ; {
		var page struct {
			Messages []item
			Next     string
		}
		r.do("GET", "/v1/queues/"+queue+"/messages?"+query+cursor, "").want(http.StatusOK).into(&page)
		all, pages = append(all, page.Messages...), pages+1
		if page.Next == "" {
			return all, pages
		}
		cursor = "&cursor=" + url.QueryEscape(page.Next)
	}
}

func TestList_Order(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for _, key := range []string{"b", "c", "a"} {
		r.sent("work", `{"key":"`+key+`","delay":"`+map[string]string{"a": "1h", "b": "2h", "c": "3h"}[key]+`"}`)
	}
	for query, want := range map[string]string{"order=asc": "a b c", "order=desc": "c b a", "order=desc&limit=1": "c b a", "order=desc&due=..150m": "b a"} {
		var keys []string
		listed, _ := r.list("work", query)
		for _, m := range listed {
			keys = append(keys, m.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%q lists %q, want %q", query, got, want)
		}
	}
}

func TestList_BadInput(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.sent("work", `{}`)
	for query, field := range map[string]string{
		"order=newest": "order", "order=": "order", "order=desc&cursor=s0.": "cursor",
		"limit=0": "limit", "limit=-1": "limit", "limit=1001": "limit", "limit=2147483648": "limit", "limit=9223372036854775808": "limit",
		"limit=1e9": "limit", "limit=": "limit", "limit=%2B5": "limit", "body_limit=-1": "body_limit", "body_limit=41944": "body_limit",
		"state=gone": "state", "cursor=forged": "cursor", "cursor=s9.": "cursor", "key=%5Ba": "key", "due=tomorrow": "due",
		"days=9": "days", "state=dead&state=ready": "state", "header=x": "header", "min_attempts=-1": "min_attempts", "died=-1h..&state=ready": "died", "%zz": "",
	} {
		r.do("GET", "/v1/queues/work/messages?"+query, "").wantProblem(http.StatusBadRequest, "invalid", field)
	}
	r.do("GET", "/v1/queues/missing/messages", "").wantProblem(http.StatusNotFound, "not_found", "")
}

func TestRedrive_ByRefsAndByFilter(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.dead("work", "a-1", "a-2", "a-3", "b-1")
	r.sent("work", `{"key":"a-2","delay":"1h"}`)
	got := r.count("/v1/queues/work/redrive", `{"refs":["key:a-1","key:missing"]}`)
	if got.Count != 1 || len(got.Errors) != 1 || got.Errors[0].Ref != "key:missing" || got.Errors[0].Code != "not_found" {
		t.Errorf("by refs: %+v", got)
	}
	if got := r.count("/v1/queues/work/redrive", `{"filter":{"key":"a-*"},"dry_run":true}`); got.Count != 2 || !got.DryRun {
		t.Errorf("dry run: %+v", got)
	}
	if got := r.count("/v1/queues/work/redrive", `{"filter":{"key":"a-*"},"spread":"1h"}`); got.Count != 1 || len(got.Errors) != 1 || got.Errors[0].Code != "duplicate" {
		t.Errorf("by filter: %+v", got)
	}
	if got := r.count("/v1/queues/work/redrive", `{"filter":{}}`); got.Count != 1 {
		t.Errorf("all: %+v", got)
	}
	if s := r.stats("work"); s.Dead != 1 || s.Counters.Redriven != 3 {
		t.Errorf("%d dead, %d redriven, want 1 and 3", s.Dead, s.Counters.Redriven)
	}
	wantAudit(t, r, "action=redrive count=1", 3)
}

// wantAudit fails the test unless the log has a number of lines with a text.
func wantAudit(t *testing.T, r *rig, text string, times int) {
	t.Helper()
	if n := strings.Count(r.logged.String(), text); n != times {
		t.Errorf("the log has %d lines with %q, want %d:\n%s", n, text, times, r.logged)
	}
}

func TestRedrive_ManyRefusals(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	const n = 103
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("k-", i)
	}
	r.dead("work", keys...)
	for _, key := range keys {
		r.sent("work", `{"delay":"1h","key":`+quoted(key)+`}`)
	}
	got := r.count("/v1/queues/work/redrive", `{"filter":{}}`)
	if got.Count != 0 || len(got.Errors) != 101 || got.Errors[100].Code != "more" || got.Errors[100].Detail != "3 more were refused" {
		t.Errorf("count %d, %d errors, the last %+v", got.Count, len(got.Errors), got.Errors[len(got.Errors)-1])
	}
}

func TestPurge_RemovesWhatTheFilterChooses(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.dead("work", "a-1", "a-2", "b-1")
	if got := r.count("/v1/queues/work/purge", `{"filter":{"state":"dead","key":"a-*"},"dry_run":true}`); got.Count != 2 {
		t.Errorf("dry run: %+v", got)
	}
	wantAudit(t, r, "action=purge", 0)
	if got := r.count("/v1/queues/work/purge", `{"filter":{"state":"dead","key":"a-*"}}`); got.Count != 2 {
		t.Errorf("purge: %+v", got)
	}
	wantAudit(t, r, "action=purge count=2 queue=work", 1)
	if s := r.stats("work"); s.Dead != 1 {
		t.Errorf("%d dead, want 1", s.Dead)
	}
}

func TestDelete_RemovesByRefs(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.dead("work", "dead")
	id := r.sent("work", `{"delay":"1h"}`)
	if got := r.count("/v1/queues/work/delete", `{"refs":["key:dead","`+id+`","`+id+`"]}`); got.Count != 2 || len(got.Errors) != 0 {
		t.Errorf("delete: %+v", got)
	}
	wantAudit(t, r, "action=delete count=2", 1)
}

func TestRescheduleAll_MovesWhatTheFilterChooses(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.sent("work", `{"key":"a","delay":"1h"}`)
	r.sent("work", `{"key":"b","delay":"1h"}`)
	if got := r.count("/v1/queues/work/reschedule", `{"filter":{"key":"a"},"due":"2031-01-01T00:00:00Z"}`); got.Count != 1 {
		t.Errorf("reschedule: %+v", got)
	}
	if got := r.get("work", "key:a"); got.Due != "2031-01-01T00:00:00.000Z" {
		t.Errorf("due %s", got.Due)
	}
}

func TestChangesOfMany_BadInputChangesNothing(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.dead("work", "a")
	for _, c := range [][3]string{
		{"redrive", `{}`, "filter"},
		{"redrive", ``, "filter"},
		{"redrive", `{"refs":[]}`, "refs"},
		{"redrive", `{"refs":["nonsense"]}`, "id"},
		{"redrive", `{"refs":["key:a"],"filter":{}}`, "filter"},
		{"redrive", `{"refs":["key:a"],"dry_run":true}`, "dry_run"},
		{"redrive", `{"refs":["key:a"],"spread":"1s"}`, "spread"},
		{"redrive", `{"filter":{"state":"ready"}}`, "state"},
		{"redrive", `{"filter":{"stat":"dead"}}`, "stat"},
		{"redrive", `{"filter":{},"delay":"1s"}`, "delay"},
		{"redrive", `{"filter":{},"spread":"11y"}`, "spread"},
		{"redrive", `{"filter":{},"spread":"3661d"}`, "spread"},
		{"purge", `{"filter":{}}`, "state"},
		{"purge", `{"refs":["key:a"]}`, "refs"},
		{"purge", `{"filter":{"state":"dead"},"spread":"1s"}`, "spread"},
		{"purge", `{"filter":{"state":"leased"}}`, "state"},
		{"delete", `{}`, "refs"},
		{"delete", `{"filter":{}}`, "filter"},
		{"reschedule", `{"filter":{}}`, "delay"},
		{"reschedule", `{"filter":{},"delay":"1s","due":"2031-01-01T00:00:00Z"}`, "due"},
		{"reschedule", `{"refs":["key:a"],"delay":"1s"}`, "refs"},
	} {
		r.do("POST", "/v1/queues/work/"+c[0], c[1]).wantProblem(http.StatusBadRequest, "invalid", c[2])
	}
	if s := r.stats("work"); s.Dead != 1 {
		t.Errorf("%d dead, want 1", s.Dead)
	}
}

func TestQueue_Lifecycle(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	created := `{"partitions":4,"lease":"1m","backoff":{"base":"1s","most":"1h"},"history":"2d","max_attempts":7,"dedup_for":"1h","dead_retention":"30d","max_dead":9,"max_history":8,"max_body":1000,"max_messages":100}`
	for range 2 { // making it can be repeated
		r.do("PUT", "/v1/queues/work", created).want(http.StatusOK)
	}
	r.do("PUT", "/v1/queues/work", `{"partitions":2}`).wantProblem(http.StatusConflict, "exists", "partitions")
	var q struct {
		Queue    string
		Paused   bool
		Settings map[string]any
		Ready    int
		Counters map[string]int
	}
	r.do("GET", "/v1/queues/work", "").want(http.StatusOK).into(&q)
	if got := fmt.Sprint(q.Settings); got != "map[backoff:map[base:1s most:1h0m0s] dead_retention:720h0m0s dedup_for:1h0m0s history:48h0m0s lease:1m0s max_attempts:7 max_body:1000 max_dead:9 max_history:8 max_messages:100 partitions:4]" {
		t.Errorf("settings %s", got)
	}
	settings, err := json.Marshal(q.Settings)
	if err != nil {
		t.Fatal(err)
	}
	r.do("PUT", "/v1/queues/other", string(settings)).want(http.StatusOK) // settings of an answer are those of a request
	r.do("PATCH", "/v1/queues/work", `{"lease":"2m","max_dead":0}`).want(http.StatusOK).into(&q)
	if q.Settings["lease"] != "2m0s" || q.Settings["max_dead"] != 0.0 || q.Settings["max_attempts"] != 7.0 {
		t.Errorf("settings %v", q.Settings)
	}
	r.do("POST", "/v1/queues/work/pause", "").want(http.StatusNoContent)
	r.do("POST", "/v1/queues/work/pause", "").want(http.StatusNoContent)
	r.sent("work", `{}`)
	r.do("GET", "/v1/queues/work", "").want(http.StatusOK).into(&q)
	if !q.Paused || q.Ready != 1 || q.Counters["sent"] != 1 {
		t.Errorf("the queue is %+v, want paused with a message", q)
	}
	r.do("POST", "/v1/queues/work/resume", "").want(http.StatusNoContent)
	r.do("DELETE", "/v1/queues/work", "").wantProblem(http.StatusConflict, "not_empty", "")
	r.do("DELETE", "/v1/queues/work?force=yes", "").wantProblem(http.StatusBadRequest, "invalid", "force")
	r.do("DELETE", "/v1/queues/work?force=true", "").want(http.StatusNoContent)
	r.do("DELETE", "/v1/queues/work", "").wantProblem(http.StatusNotFound, "not_found", "")
	for action, times := range map[string]int{`action="create queue"`: 3, `action="update queue"`: 1, "action=pause": 2, "action=resume": 1, `action="delete queue" force=true`: 1} {
		wantAudit(t, r, action, times)
	}
}

func TestQueue_BadInput(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("PUT", "/v1/queues/work", `{"partitions":9}`).want(http.StatusOK)
	for body, field := range map[string]string{
		`{"partitions":8}`: "partitions", `{"max_body":4194305}`: "max_body", `{"lease":"1ms"}`: "lease",
		`{"lease":60}`: "lease", `{"paused":true}`: "paused", `{"backoff":{"base":"1s"}}`: "backoff", `{"history":"-1s"}`: "history", `{"max_dead":-1}`: "max_dead",
	} {
		r.do("PATCH", "/v1/queues/work", body).wantProblem(http.StatusBadRequest, "invalid", field)
	}
	for _, method := range []string{"GET", "PATCH"} {
		r.do(method, "/v1/queues/missing", "").wantProblem(http.StatusNotFound, "not_found", "")
	}
	r.do("PUT", "/v1/queues/a%20b", `{}`).wantProblem(http.StatusBadRequest, "invalid", "queue")
	r.do("DELETE", "/v1/queues/a%20b", "").wantProblem(http.StatusBadRequest, "invalid", "queue")
}

func TestMetrics_HasEachQueueOfTheStore(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.sent("work", `{}`)
	r.sent("work", `{"delay":"1h"}`)
	r.do("PUT", "/v1/queues/idle", "").want(http.StatusOK)
	for i := range 100 {
		r.do("GET", fmt.Sprintf("/v1/queues/unknown-%d", i), "").want(http.StatusNotFound)
	}
	a := r.do("GET", "/metrics", "").want(http.StatusOK)
	for _, line := range []string{
		"# TYPE dueq_messages gauge", `dueq_messages{queue="work",state="ready"} 1`, `dueq_messages{queue="work",state="scheduled"} 1`,
		`dueq_messages{queue="idle",state="ready"} 0`, `dueq_paused{queue="work"} 0`, `dueq_events_total{queue="work",event="sent"} 2`,
	} {
		if !strings.Contains(string(a.body), line+"\n") {
			t.Errorf("no line %s in\n%s", line, a.body)
		}
	}
	if strings.Contains(string(a.body), "unknown-") {
		t.Errorf("names of requests are in the metrics:\n%s", a.body)
	}
}

func TestAudit_NamesWhoWhatAndHowMany(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{}).with("admin")
	id := r.sent("work", `{}`)
	r.settled("work", r.received("work").Receipt, `"verdict":"reject"`)
	for _, c := range []struct{ method, path, body, line string }{
		{"POST", "/redrive", `{"filter":{},"dry_run":true}`, ""},
		{"POST", "/redrive", `{"filter":{}}`, "action=redrive count=1 queue=work"},
		{"POST", "/reschedule", `{"filter":{},"delay":"1h"}`, "action=reschedule count=1 queue=work"},
		{"POST", "/delete", `{"refs":["` + id + `"]}`, "action=delete count=1 queue=work"},
		{"POST", "/purge", `{"filter":{"state":"dead"}}`, "action=purge count=0 queue=work"},
		{"POST", "/pause", ``, "action=pause queue=work"},
		{"POST", "/resume", ``, "action=resume queue=work"},
		{"PATCH", "", `{"max_body":1000}`, `action="update queue" queue=work`},
		{"DELETE", "?force=true", ``, `action="delete queue" force=true queue=work`},
		{"PUT", "", `{}`, `action="create queue" queue=work`},
	} {
		before := len(r.logged.String())
		if a := r.do(c.method, "/v1/queues/work"+c.path, c.body); a.status >= 300 {
			t.Fatalf("%s: %d %s", a.what, a.status, a.body)
		}
		log := r.logged.String()[before:]
		if has := strings.Contains(log, "dueqhttp: audit"); has != (c.line != "") || !strings.Contains(log, c.line) || has && !strings.Contains(log, "caller=admin "+c.line) {
			t.Errorf("%s %s: want the line %q in\n%s", c.method, c.path, c.line, log)
		}
	}
}
