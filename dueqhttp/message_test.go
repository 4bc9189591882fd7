package dueqhttp_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestSend_MessageIsStoredAsGiven(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	id := r.sent("orders", `{"body":"hello","key":"order-42","headers":{"X-Trace":"7"},"delay":"30m","max_attempts":3,"ttl":"2d"}`)
	got, err := r.client.Queue("orders").Get(t.Context(), dueq.Key("order-42"))
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != id || string(got.Body) != "hello" || got.Headers["X-Trace"] != "7" || got.State != dueq.Scheduled || got.MaxAttempts != 3 {
		t.Errorf("stored %+v", got)
	}
	if wait := time.Until(got.At); wait < 29*time.Minute || wait > 31*time.Minute {
		t.Errorf("due in %s, want 30m", wait)
	}
	if life := time.Until(got.ExpiresAt); life < 47*time.Hour || life > 49*time.Hour {
		t.Errorf("expires in %s, want 2d", life)
	}
	seen := r.get("orders", "key:order-42")
	if seen.ID != id || seen.Body != "hello" || seen.State != "scheduled" || seen.Due != got.At.UTC().Format("2006-01-02T15:04:05.000Z") {
		t.Errorf("get returned %+v", seen)
	}
}

func TestSend_BodiesArriveByteForByte(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for request, want := range map[string]string{
		`{}`:                                  "",
		`{"body":""}`:                         "",
		`{"body":"a\u0000\n\"\ud83d\ude00é"}`: "a\x00\n\"😀é",
		`{"body_base64":"AP+A"}`:              "\x00\xff\x80",
		`{"body_json":{"b": [1.0, 1e3, "\u00e9"],  "a":null}}`: `{"b": [1.0, 1e3, "\u00e9"],  "a":null}`,
		`{"body_json":null}`:                   "null",
		`{"body_json":"x"}`:                    `"x"`,
		`{"body":"<script>&` + "\u2028" + `"}`: "<script>&\u2028",
	} {
		r.sent("work", request)
		got := r.received("work")
		body := got.Body
		if got.BodyBase64 != nil {
			decoded, err := base64.StdEncoding.DecodeString(*got.BodyBase64)
			if err != nil {
				t.Fatal(err)
			}
			body = string(decoded)
		}
		if body != want {
			t.Errorf("%s arrived as %q, want %q", request, body, want)
		}
	}
}

func TestSend_RepeatedWithTheSameDedupIDStoresNothing(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	first := r.sent("work", `{"dedup_id":"payment-7","body":"1"}`)
	var second item
	r.do("POST", "/v1/queues/work/messages", `{"dedup_id":"payment-7","body":"2"}`).want(http.StatusOK).into(&second)
	if second.ID != first || !second.Deduplicated {
		t.Errorf("the second send returned %+v, want the id %s", second, first)
	}
	if s := r.stats("work"); s.Ready != 1 {
		t.Errorf("%d messages, want 1", s.Ready)
	}
}

func TestSend_DuplicateKeyNamesItsHolder(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	first := r.sent("work", `{"key":"k","body":"1"}`)
	var p problem
	r.do("POST", "/v1/queues/work/messages", `{"key":"k","body":"2"}`).wantProblem(http.StatusConflict, "duplicate", "key").into(&p)
	if p.Holder != first || p.Outcome != "" {
		t.Errorf("%+v, want the holder %s and a known outcome", p, first)
	}
	r.sent("work", `{"key":"k","body":"2","replace":true}`)
}

func TestSend_RecurringMessage(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.sent("reports", `{"key":"daily","repeat":"cron 0 9 * * 1-5 Europe/Berlin"}`)
	if got := r.get("reports", "key:daily"); got.Repeat != "cron 0 9 * * 1-5 Europe/Berlin" || got.State != "scheduled" {
		t.Errorf("stored %+v", got)
	}
}

func TestSend_FullQueueAsksToWait(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("PUT", "/v1/queues/work", `{"max_messages":1}`).want(http.StatusOK)
	r.sent("work", `{}`)
	if a := r.do("POST", "/v1/queues/work/messages", `{}`).wantProblem(http.StatusTooManyRequests, "queue_full", ""); a.header.Get("Retry-After") == "" {
		t.Error("the answer has no Retry-After")
	}
}

func TestSend_BadInputChangesNothing(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for body, want := range map[string]struct {
		status int
		code   string
		field  string
	}{
		`{"delay":"-3s"}`:                                       {400, "invalid", "delay"},
		`{"delay":"9e999s"}`:                                    {400, "invalid", "delay"},
		`{"delay":"1h1"}`:                                       {400, "invalid", "delay"},
		`{"delay":"tomorrow"}`:                                  {400, "invalid", "delay"},
		`{"delay":30}`:                                          {400, "invalid", "delay"},
		`{"delay":"3661d"}`:                                     {400, "invalid", "delay"},
		`{"due":"0000-01-01T00:00:00Z"}`:                        {400, "invalid", "due"},
		`{"due":"9000-01-01T00:00:00Z"}`:                        {400, "invalid", "due"},
		`{"due":"2030-01-01T00:00:00Z","delay":"1s"}`:           {400, "invalid", "due"},
		`{"ttl":"1s","delay":"2s"}`:                             {400, "invalid", "ttl"},
		`{"max_attempts":0}`:                                    {400, "invalid", "max_attempts"},
		`{"max_attempts":1001}`:                                 {400, "invalid", "max_attempts"},
		`{"max_attempts":1.5}`:                                  {400, "invalid", "max_attempts"},
		`{"max_attempts":9223372036854775808}`:                  {400, "invalid", "max_attempts"},
		`{"id":"order-42"}`:                                     {400, "invalid", "id"},
		`{"key":"a\u0007"}`:                                     {400, "invalid", "key"},
		`{"key":"` + strings.Repeat("k", 256) + `"}`:            {400, "invalid", "key"},
		`{"headers":{"a b":"c"}}`:                               {400, "invalid", "headers"},
		`{"headers":{"a":"c\r\nX: y"}}`:                         {400, "invalid", "headers"},
		`{"headers":{"a":1}}`:                                   {400, "invalid", "headers"},
		`{"headers":{"a":"` + strings.Repeat("v", 9000) + `"}}`: {400, "invalid", "headers"},
		`{"body":"a","body_json":1}`:                            {400, "invalid", "body"},
		`{"body":7}`:                                            {400, "invalid", "body"},
		`{"body_base64":"%%%"}`:                                 {400, "invalid", "body_base64"},
		`{"body_base64":"AP-A"}`:                                {400, "invalid", "body_base64"},
		`{"replace":true}`:                                      {400, "invalid", "replace"},
		`{"repeat":"every 1h"}`:                                 {400, "invalid", "repeat"},
		`{"repeat":"cron 60 * * * *","key":"k"}`:                {400, "invalid", "repeat"},
		`{"dedup_for":"25h"}`:                                   {400, "invalid", "dedup_for"},
		`{"dealy":"1s"}`:                                        {400, "invalid", "dealy"},
		`{"Delay":"1s"}`:                                        {400, "invalid", "Delay"},
		`{"delay":"1s","delay":"2s"}`:                           {400, "invalid", "delay"},
		`{"body":"` + strings.Repeat("b", 256<<10+1) + `"}`:     {413, "too_large", "body"},
		`[]`:                        {400, "invalid", ""},
		`"x"`:                       {400, "invalid", ""},
		`{`:                         {400, "invalid", ""},
		`{} {}`:                     {400, "invalid", ""},
		`{"body":"` + "\xff" + `"}`: {400, "invalid", ""},
		`{"body":"\ud83d"}`:         {400, "invalid", ""},
		`{"body_json":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`: {400, "invalid", ""},
	} {
		t.Run(body[:min(len(body), 40)], func(t *testing.T) {
			r := &rig{T: t, server: r.server}
			r.do("POST", "/v1/queues/work/messages", body).wantProblem(want.status, want.code, want.field)
		})
	}
	for _, name := range []string{"%7Bx%7D", "a%20b", "_x", "a%2Fb", "%0A", strings.Repeat("q", 129), "q:ready", "*", "%C3%A9"} {
		r.do("POST", "/v1/queues/"+name+"/messages", `{}`).wantProblem(http.StatusBadRequest, "invalid", "queue")
	}
	if all, err := r.client.Stats(t.Context()); err != nil || len(all) > 1 || len(all) == 1 && all[0].Counters.Sent != 0 {
		t.Errorf("something was stored: %+v, %v", all, err)
	}
}

func TestSend_OnlyJSONIsRead(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for name, value := range map[string]string{"Content-Type": "text/plain", "Content-Encoding": "gzip"} {
		request := r.request("POST", "/v1/queues/work/messages", `{}`)
		request.Header.Set(name, value)
		r.send(request).wantProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "")
	}
	request := r.request("POST", "/v1/queues/work/messages", `{}`)
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.send(request).want(http.StatusCreated)
}

func TestBatch_EachMessageHasItsResult(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	var got struct{ Results []item }
	r.do("POST", "/v1/queues/work/batch", `{"messages":[{"body":"1","key":"a"},{"delay":"-1s"},{"key":"a"},{"body":"4"}]}`).
		want(http.StatusMultiStatus).into(&got)
	for i, want := range []struct {
		status      int
		code, field string
	}{{201, "", ""}, {400, "invalid", "delay"}, {409, "duplicate", "key"}, {201, "", ""}} {
		if g := got.Results[i]; g.Status != want.status || g.Code != want.code || g.Field != want.field || (g.ID == "") != (want.status != 201) {
			t.Errorf("result %d: %+v, want %+v", i, g, want)
		}
	}
	if got.Results[2].Holder != got.Results[0].ID {
		t.Errorf("the holder is %q, want %q", got.Results[2].Holder, got.Results[0].ID)
	}
	if s := r.stats("work"); s.Ready != 2 {
		t.Errorf("%d messages are stored, want 2", s.Ready)
	}
	r.do("POST", "/v1/queues/work/batch", `{"messages":[{},{}]}`).want(http.StatusCreated)
	r.do("POST", "/v1/queues/work/batch", `{"messages":[{"delay":"x"},{"delay":"y"}]}`).want(http.StatusBadRequest)
}

func TestBatch_LimitsItsMessages(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.do("POST", "/v1/queues/work/batch", `{"messages":[]}`).wantProblem(http.StatusBadRequest, "invalid", "messages")
	r.do("POST", "/v1/queues/work/batch", `{}`).wantProblem(http.StatusBadRequest, "invalid", "messages")
	r.do("POST", "/v1/queues/work/batch", `{"messages":[`+strings.Repeat("{},", 5000)+`{}]}`).wantProblem(http.StatusBadRequest, "invalid", "messages")
	r.do("POST", "/v1/queues/work/batch", `{"messages":[`+strings.Repeat("{},", 4999)+`{}]}`).want(http.StatusCreated)
	if s := r.stats("work"); s.Ready != 5000 {
		t.Errorf("%d messages are stored, want 5000", s.Ready)
	}
}

func TestCancel_AnswersByState(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	id := r.sent("work", `{"delay":"1h"}`)
	r.do("DELETE", "/v1/queues/work/messages/"+id, "").want(http.StatusNoContent)
	r.do("DELETE", "/v1/queues/work/messages/"+id, "").wantProblem(http.StatusNotFound, "not_found", "")
	r.sent("work", `{"key":"a/b c"}`)
	d := r.received("work")
	r.do("DELETE", "/v1/queues/work/messages/key:a%2Fb%20c", "").wantProblem(http.StatusConflict, "running", "")
	var got struct{ Results []item }
	r.do("POST", "/v1/queues/work/settle", fmt.Sprintf(`{"verdicts":[{"receipt":%q,"verdict":"release"}]}`, d.Receipt)).want(http.StatusConflict).into(&got)
	if got.Results[0].Code != "cancelled" {
		t.Errorf("the verdict on a cancelled message: %+v", got.Results[0])
	}
	dead := r.sent("work", `{"max_attempts":1}`)
	r.settled("work", r.received("work").Receipt, `"verdict":"reject","reason":"no"`)
	r.do("DELETE", "/v1/queues/work/messages/"+dead, "").wantProblem(http.StatusConflict, "dead", "")
	r.do("DELETE", "/v1/queues/work/messages/nonsense", "").wantProblem(http.StatusBadRequest, "invalid", "id")
	r.do("DELETE", "/v1/queues/missing/messages/key:k", "").wantProblem(http.StatusNotFound, "not_found", "")
	if strings.Count(r.logged.String(), "action=cancel") != 2 {
		t.Errorf("want two lines in the audit, of the two cancels that had an effect:\n%s", r.logged)
	}
}

func TestReschedule_MovesTheMessage(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	id := r.sent("work", `{"delay":"1h"}`)
	path := "/v1/queues/work/messages/" + id + "/reschedule"
	r.do("POST", path, `{"delay":"0s"}`).want(http.StatusNoContent)
	if got := r.get("work", id); got.State != "ready" {
		t.Errorf("the message is %s, want ready", got.State)
	}
	r.do("POST", path, `{"due":"2040-01-31T18:00:00+01:00"}`).wantProblem(http.StatusBadRequest, "invalid", "due")
	r.do("POST", path, `{"due":"2031-01-31T18:00:00+01:00"}`).want(http.StatusNoContent)
	if got := r.get("work", id); got.Due != "2031-01-31T17:00:00.000Z" {
		t.Errorf("due %s", got.Due)
	}
	r.do("POST", path, `{}`).wantProblem(http.StatusBadRequest, "invalid", "delay")
	r.do("POST", path, "").wantProblem(http.StatusBadRequest, "invalid", "delay")
}
