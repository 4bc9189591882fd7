package dueqhttp_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

// secretOf returns the secret of the token with a name, in these tests.
func secretOf(name string) string { return "secret-of-" + name }

func token(name string, queues []string, scopes ...dueqhttp.Scope) dueqhttp.Token {
	return dueqhttp.Token{Name: name, SHA256: sha256.Sum256([]byte(secretOf(name))), Scopes: scopes, Queues: queues}
}

// guarded starts a server with a token for each scope, and one with all scopes for some queues.
func guarded(t *testing.T, o dueqhttp.Options) *rig {
	t.Helper()
	o.Tokens = []dueqhttp.Token{
		token("produce", nil, dueqhttp.Produce), token("consume", nil, dueqhttp.Consume), token("read", nil, dueqhttp.Read),
		token("admin", nil, dueqhttp.Admin), token("mail", []string{"mail-*", "post"}, dueqhttp.Admin),
	}
	return serve(t, &o)
}

// with returns the rig with the secret of a token.
func (r *rig) with(name string) *rig {
	c := *r
	c.secret = secretOf(name)
	return &c
}

// operation is a kind of request in the description of the API.
type operation struct{ method, path, scope string }

// request returns a path for the operation.
func (o operation) request(queue string) string {
	if o.path == "/v1/events" {
		return o.path + "?queue=[" // an answer without an end is not wanted
	}
	return strings.NewReplacer("{queue}", queue, "{ref}", "key:k").Replace(o.path)
}

// operations returns what openapi.json describes. TestDescription_HasEachRoute compares it with
// the routes of the handler.
func operations(t *testing.T, r *rig) []operation {
	t.Helper()
	var description struct {
		Paths map[string]map[string]json.RawMessage
	}
	r.do("GET", "/v1/openapi.json", "").want(http.StatusOK).into(&description)
	var all []operation
	for path, item := range description.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var o struct{ Security []map[string][]string }
			if err := json.Unmarshal(raw, &o); err != nil {
				t.Fatal(err)
			}
			scope := ""
			if len(o.Security) > 0 {
				scope = o.Security[0]["token"][0]
			}
			all = append(all, operation{strings.ToUpper(method), path, scope})
		}
	}
	if len(all) < 20 {
		t.Fatalf("the description has %d operations", len(all))
	}
	return all
}

func TestAuth_EveryRouteNeedsATokenWithItsScope(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{})
	for _, o := range operations(t, r) {
		if o.scope == "" {
			r.do(o.method, o.request("work"), "").want(map[string]int{"/v1/openapi.json": 200}[o.path] + map[string]int{"/livez": 204, "/readyz": 204}[o.path])
			continue
		}
		path := o.request("missing")
		if a := r.do(o.method, path, "").wantProblem(http.StatusUnauthorized, "unauthorized", ""); a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", a.what)
		}
		for _, name := range []string{"produce", "consume", "read"} {
			a := r.with(name).do(o.method, path, "")
			if name != o.scope {
				a.wantProblem(http.StatusForbidden, "forbidden", "")
			} else if a.status == http.StatusForbidden || a.status == http.StatusUnauthorized {
				t.Errorf("%s with the scope %s: %d", a.what, name, a.status)
			}
		}
		if a := r.with("admin").do(o.method, path, ""); a.status == http.StatusForbidden || a.status == http.StatusUnauthorized {
			t.Errorf("%s with the scope admin: %d", a.what, a.status)
		}
	}
}

func TestAuth_QueuesOfAToken(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{})
	mail, all := r.with("mail"), r.with("admin")
	for queue, allowed := range map[string]bool{"mail-1": true, "post": true, "mail": false, "postal": false, "orders": false} {
		want := map[bool]int{true: http.StatusCreated, false: http.StatusForbidden}[allowed]
		mail.do("POST", "/v1/queues/"+queue+"/messages", `{}`).want(want)
	}
	all.sent("orders", `{}`)
	// A queue that the token is not for is answered the same whether it exists or not.
	existing, missing := mail.do("GET", "/v1/queues/orders", "").want(http.StatusForbidden), mail.do("GET", "/v1/queues/missing", "").want(http.StatusForbidden)
	if string(existing.body) != string(missing.body) {
		t.Errorf("%s differs from %s", existing.body, missing.body)
	}
	var seen struct{ Queues []struct{ Queue string } }
	mail.do("GET", "/v1/queues", "").want(http.StatusOK).into(&seen)
	if got := fmt.Sprint(seen.Queues); got != "[{mail-1} {post}]" {
		t.Errorf("queues %s", got)
	}
	if a := mail.do("GET", "/metrics", "").want(http.StatusOK); strings.Contains(string(a.body), "orders") {
		t.Errorf("metrics of a queue that the token is not for:\n%s", a.body)
	}
	// A receipt of another queue does not help, nor does a Next that sends there.
	foreign := all.received("orders")
	if got := mail.settled("post", foreign.Receipt, `"verdict":"ack"`); got.Status != http.StatusBadRequest || got.Field != "receipt" {
		t.Errorf("the receipt of another queue: %+v", got)
	}
	own := mail.received("post")
	if got := mail.settled("post", own.Receipt, `"verdict":"next","messages":[{"queue":"orders"}]`); got.Status != http.StatusForbidden {
		t.Errorf("a Next that sends to another queue: %+v", got)
	}
}

func TestAuth_NextNeedsTheScopeProduce(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{})
	r.with("produce").sent("work", `{}`)
	consumer := r.with("consume")
	d := consumer.received("work")
	if got := consumer.settled("work", d.Receipt, `"verdict":"next","messages":[{}]`); got.Status != http.StatusForbidden {
		t.Errorf("a Next without the scope produce: %+v", got)
	}
	if got := consumer.settled("work", d.Receipt, `"verdict":"ack"`); got.Status != http.StatusOK {
		t.Errorf("ack: %+v", got)
	}
}

func TestAuth_ManyUnknownTokensAreRefusedAndNotLogged(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{})
	wrong := *r
	wrong.secret = "wrong-secret-7"
	for range 20 {
		wrong.do("GET", "/v1/queues", "").wantProblem(http.StatusUnauthorized, "unauthorized", "")
	}
	if a := wrong.do("GET", "/v1/queues", "").wantProblem(http.StatusTooManyRequests, "too_many_failures", ""); a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	r.with("read").do("GET", "/v1/queues", "").want(http.StatusOK) // from the same address
	for _, header := range []string{"Basic " + secretOf("read"), secretOf("read"), "Bearer", "Bearer ", "Bearer  " + secretOf("read")} {
		request := r.request("GET", "/v1/queues", "")
		request.Header.Set("Authorization", header)
		if a := r.send(request); a.status != http.StatusUnauthorized && a.status != http.StatusTooManyRequests {
			t.Errorf("Authorization: %s: %d", header, a.status)
		}
	}
	if log := r.logged.String(); strings.Contains(log, "wrong-secret-7") || strings.Contains(log, secretOf("read")) || strings.Count(log, "unknown token") != 20 {
		t.Errorf("the log has a secret, or not 20 warnings:\n%s", log)
	}
}

func TestReadOnly_RefusesEveryChange(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{ReadOnly: true}).with("admin")
	if _, err := r.client.Queue("work").Send(t.Context(), dueq.Message{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	for _, o := range operations(t, r) {
		a := r.do(o.method, o.request("work"), "")
		if (o.method != "GET") != (a.status == http.StatusForbidden) {
			t.Errorf("%s: %d", a.what, a.status)
		}
	}
}

func TestGet_ChangesNothing(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.sent("work", `{"key":"k"}`)
	before := r.stats("work")
	for _, o := range operations(t, r) {
		if o.method == "GET" {
			r.do("GET", o.request("work"), "")
			r.do("GET", o.request("missing"), "")
		} else if a := r.do("GET", o.request("work")+"?force=true", ""); a.status < 400 && a.status != http.StatusOK {
			t.Errorf("%s: %d", a.what, a.status)
		}
	}
	after, err := r.client.Stats(t.Context())
	if err != nil || len(after) != 1 || after[0].Counters != before.Counters || after[0].Ready != 1 || after[0].Leased != 0 {
		t.Errorf("before %+v, after %+v (%v)", before, after, err)
	}
}

func TestCrossOrigin_RequestsOfOtherPagesAreRefused(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for name, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
		request := r.request("POST", "/v1/queues/work/messages", `{}`)
		request.Header.Set(name, value)
		r.send(request).wantProblem(http.StatusForbidden, "cross_origin", "")
	}
	request := r.request("POST", "/v1/queues/work/messages", `{}`)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	r.send(request).want(http.StatusCreated)
}

func TestHost_OnlyKnownNames(t *testing.T) {
	t.Parallel()
	open, named, guarded := serve(t, nil), serve(t, &dueqhttp.Options{Hosts: []string{"queue.example"}}), guarded(t, dueqhttp.Options{})
	for _, c := range []struct {
		r    *rig
		host string
		want int
	}{
		{open, "localhost", 204},
		{open, "localhost:7373", 204},
		{open, "127.0.0.1:7373", 204},
		{open, "[::1]:7373", 204},
		{open, "LOCALHOST.", 204},
		{open, "evil.com", 421},
		{open, "evil.com:7373", 421},
		{open, "localhost.evil.com", 421},
		{open, "127.0.0.1.evil.com", 421},
		{named, "queue.example:443", 204},
		{named, "QUEUE.example", 204},
		{named, "other.example", 421},
		{guarded, "queue.example", 204},
	} {
		request := c.r.request("GET", "/livez", "")
		request.Host = c.host
		c.r.send(request).want(c.want)
	}
}

func TestHandler_InvalidOptionsAreRefused(t *testing.T) {
	t.Parallel()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	ok := token("a", nil, dueqhttp.Read)
	same := ok
	same.Name = "b"
	for _, c := range []struct {
		client *dueq.Client
		o      dueqhttp.Options
		field  string
	}{
		{nil, dueqhttp.Options{}, "client"},
		{client, dueqhttp.Options{MaxRequest: -1}, "max request"},
		{client, dueqhttp.Options{TokenRate: -1}, "token rate"},
		{client, dueqhttp.Options{TokenRate: math.NaN()}, "token rate"},
		{client, dueqhttp.Options{AddressRate: 1e9}, "address rate"},
		{client, dueqhttp.Options{AddressRate: 1e-9}, "address rate"},
		{client, dueqhttp.Options{Tokens: []dueqhttp.Token{{}}}, "token"},
		{client, dueqhttp.Options{Tokens: []dueqhttp.Token{token("a b", nil, dueqhttp.Read)}}, "token"},
		{client, dueqhttp.Options{Tokens: []dueqhttp.Token{token("a", nil)}}, "token"},
		{client, dueqhttp.Options{Tokens: []dueqhttp.Token{token("a", nil, "write")}}, "token"},
		{client, dueqhttp.Options{Tokens: []dueqhttp.Token{token("a", []string{"[a"}, dueqhttp.Read)}}, "token"},
		{client, dueqhttp.Options{Tokens: []dueqhttp.Token{token("a", []string{""}, dueqhttp.Read)}}, "token"},
		{client, dueqhttp.Options{Tokens: []dueqhttp.Token{ok, ok}}, "token"},
		{client, dueqhttp.Options{Tokens: []dueqhttp.Token{ok, same}}, "token"},
	} {
		_, err := dueqhttp.Handler(c.client, &c.o)
		if e, is := errors.AsType[*dueq.Error](err); !is || e.Field != c.field || !errors.Is(err, dueq.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid for the %s", c.o, err, c.field)
		}
	}
}

func TestParseTokens_ReadsWhatStringWrites(t *testing.T) {
	t.Parallel()
	secret, hash := dueqhttp.NewSecret()
	if len(secret) < 32 || hash != sha256.Sum256([]byte(secret)) {
		t.Errorf("the secret %q has another hash, or is short", secret)
	}
	want := []dueqhttp.Token{
		{Name: "ci", SHA256: hash, Scopes: []dueqhttp.Scope{dueqhttp.Produce, dueqhttp.Read}, Queues: []string{"orders", "mail-*"}},
		token("all", nil, dueqhttp.Admin),
	}
	got, err := dueqhttp.ParseTokens(strings.NewReader("# tokens\n\n" + want[0].String() + "\n  " + want[1].String() + "\r\n"))
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestParseTokens_ErrorsNameTheLineAndNoSecret(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("ab", 32)
	for line, want := range map[string]string{
		"my-secret-token-of-32-characters": "line 2", "ci my-secret-token admin": "line 2", "ci sha256:abcd admin": "line 2",
		"ci sha256:" + hash + " write": "write", "ci sha256:" + hash: "line 2", "c,i sha256:" + hash + " read": "line 2",
		"ci sha256:" + hash + " read [a": "pattern", "ci sha256:" + hash + " read a b": "line 2",
		"one sha256:" + hash + " read": "another token", strings.Repeat("x", 20<<10): "read tokens",
	} {
		_, err := dueqhttp.ParseTokens(strings.NewReader("one sha256:" + hash + " read\n" + line))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "my-secret") {
			t.Errorf("%.40q: %v, want an error with %q and without the secret", line, err, want)
		}
	}
}
