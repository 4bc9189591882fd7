package dueqhttp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

const storeNow = `{"queue":"orders"}`

// A caller with the store can do everything with every queue, so its token must allow that.
func TestStore_NeedsAdminForAllQueues(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{}
	o := &dueqhttp.Options{}
	for name, t := range map[string]dueqhttp.Token{
		"all":     {Scopes: []dueqhttp.Scope{dueqhttp.Admin}},
		"limited": {Scopes: []dueqhttp.Scope{dueqhttp.Admin}, Queues: []string{"orders"}},
		"others":  {Scopes: []dueqhttp.Scope{dueqhttp.Produce, dueqhttp.Consume, dueqhttp.Read}},
	} {
		secrets[name], t.SHA256 = dueqhttp.NewSecret()
		t.Name = name
		o.Tokens = append(o.Tokens, t)
	}
	r := serve(t, o)
	r.do("POST", "/v1/store/now", storeNow).wantProblem(http.StatusUnauthorized, "unauthorized", "")
	for name, status := range map[string]int{"all": http.StatusOK, "limited": http.StatusForbidden, "others": http.StatusForbidden} {
		r.secret = secrets[name]
		a := r.do("POST", "/v1/store/now", storeNow).want(status)
		if a.header.Get("Dueq-Store") != "1" {
			t.Errorf("%s: the answer is not marked", name)
		}
	}
}

func TestStore_RequestsAreStrict(t *testing.T) {
	t.Parallel()
	r := serve(t, &dueqhttp.Options{MaxRequest: 10})
	r.do("POST", "/v1/store/now", `{"queue":"orders","colour":1}`).wantProblem(http.StatusBadRequest, "invalid", "colour")
	r.do("POST", "/v1/store/now", `{"queue":"orders","queue":"b"}`).wantProblem(http.StatusBadRequest, "invalid", "queue")
	r.do("POST", "/v1/store/vacuum", `{}`).wantProblem(http.StatusBadRequest, "invalid", "method")
	r.do("POST", "/v1/store/list", `{"queue":"orders","request":{"state":"ready"}}`).wantProblem(http.StatusBadRequest, "invalid", "limit")
	r.do("GET", "/v1/store/now", "").wantProblem(http.StatusMethodNotAllowed, "method_not_allowed", "")
	if a := r.do("POST", "/v1/store/now", `{"queue":"`+strings.Repeat("x", 8<<20)+`"}`); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a request of more than 8 MiB: %d", a.status)
	}
}

// A read-only server lets others look at its store.
func TestStore_ReadOnly(t *testing.T) {
	t.Parallel()
	r := serve(t, &dueqhttp.Options{ReadOnly: true})
	if _, err := r.client.Queue("orders").Send(t.Context(), dueq.Message{}); err != nil {
		t.Fatal(err)
	}
	for method, request := range map[string]string{
		"now": storeNow, "stats": `{}`, "queues": `{}`, "members": storeNow, "configure": storeNow,
		"list": `{"queue":"orders","request":{"state":"ready","limit":1}}`, "forecast": `{"queue":"orders","request":{"step":1,"spans":1}}`, "check": `{"queue":"orders","request":{"limit":1}}`,
	} {
		r.do("POST", "/v1/store/"+method, request).want(http.StatusOK)
	}
	for _, method := range []string{"push", "claim", "settle", "extend", "cancel", "reschedule", "redrive", "purge", "delete", "beat", "duties", "notify", "leave"} {
		r.do("POST", "/v1/store/"+method, storeNow).wantProblem(http.StatusForbidden, "forbidden", "")
	}
	r.do("POST", "/v1/store/configure", `{"queue":"orders","request":{"paused":false}}`).wantProblem(http.StatusForbidden, "forbidden", "")
}

func TestStore_RemovalsAndChangesAreAudited(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	id := r.sent("orders", `{"delay":"1h"}`)
	for method, request := range map[string]string{
		"configure": `{"paused":true}`, "cancel": `{"caller":"c","number":1,"refs":[{"id":"` + id + `"}]}`,
		"redrive": `{"caller":"c","number":2,"items":[{"id":"` + id + `"}]}`, "purge": `{"caller":"c","number":3,"state":"dead","all":true,"limit":1}`,
	} {
		r.do("POST", "/v1/store/"+method, `{"queue":"orders","request":`+request+`}`).want(http.StatusOK)
	}
	r.do("POST", "/v1/store/delete", `{"queue":"orders","request":{"force":true}}`).want(http.StatusOK)
	for _, action := range []string{`"configure queue"`, "cancel", "redrive", "purge", `"delete queue"`} {
		if !strings.Contains(r.logged.String(), "action="+action+" queue=orders") {
			t.Errorf("no line for %s in\n%s", action, r.logged)
		}
	}
}
