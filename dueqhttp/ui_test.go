package dueqhttp_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/store/embedded"
)

// serveUI starts a server with the dashboard, and with tokens if o has any.
func serveUI(t *testing.T, o *dueqhttp.Options) *rig {
	t.Helper()
	return serveWith(t, dueqhttp.UI, embedded.NewMemory(embedded.Config{}), o)
}

// assetsOf returns the paths of the files that the page loads.
func assetsOf(t *testing.T, r *rig) []string {
	t.Helper()
	page := r.do("GET", "/", "").want(http.StatusOK)
	var paths []string
	for _, m := range regexp.MustCompile(`(?:href|src)="(assets/[^"]+)"`).FindAllSubmatch(page.body, -1) {
		paths = append(paths, "/"+string(m[1]))
	}
	if len(paths) != 3 {
		t.Fatalf("the page loads %v, want a script, a style sheet and an icon:\n%s", paths, page.body)
	}
	return paths
}

func TestUI_PageLoadsOnlyItsOwnFiles(t *testing.T) {
	t.Parallel()
	r := serveUI(t, nil)
	page := r.do("GET", "/", "").want(http.StatusOK)
	policy := page.header.Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:",
		"frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'",
	} {
		if !slices.Contains(strings.Split(policy, "; "), want) {
			t.Errorf("the policy has no %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy allows what is unsafe: %s", policy)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8"} {
		if got := page.header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if inside := regexp.MustCompile(`<script[^>]*>[^<]|<style|\sstyle=|\son[a-z]+=|https?://|(src|href)="/`).Find(page.body); inside != nil {
		t.Errorf("the page has %q: a script or style of its own, or an address that is not relative", inside)
	}
}

func TestUI_FilesAreKeptByBrowsers(t *testing.T) {
	t.Parallel()
	r := serveUI(t, nil)
	for _, path := range assetsOf(t, r) {
		a := r.do("GET", path, "").want(http.StatusOK)
		if a.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || !regexp.MustCompile(`-[0-9a-f]{16}\.(js|css|svg)$`).MatchString(path) {
			t.Errorf("%s: Cache-Control: %s", path, a.header.Get("Cache-Control"))
		}
		if strings.Contains(string(a.body), "https://") && !strings.HasSuffix(path, ".svg") {
			t.Errorf("%s has the address of another site", path)
		}
	}
	r.do("GET", "/assets/app.js", "").wantProblem(http.StatusNotFound, "not_found", "")
	r.do("GET", "/assets/..%2findex.html", "").wantProblem(http.StatusNotFound, "not_found", "")
}

func TestUI_FilesAreSmallAndCompressed(t *testing.T) {
	t.Parallel()
	r := serveUI(t, nil)
	total := 0
	for _, path := range assetsOf(t, r) {
		plain := r.do("GET", path, "")
		for accept, compressed := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "br": false, "identity": false} {
			request := r.request("GET", path, "")
			request.Header.Set("Accept-Encoding", accept)
			a := r.send(request).want(http.StatusOK)
			body := a.body
			if (a.header.Get("Content-Encoding") == "gzip") != compressed || a.header.Get("Vary") != "Accept-Encoding" {
				t.Fatalf("%s with Accept-Encoding %s: %v", path, accept, a.header)
			}
			if compressed {
				z, err := gzip.NewReader(bytes.NewReader(a.body))
				if err != nil {
					t.Fatal(err)
				}
				if body, err = io.ReadAll(z); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(body, plain.body) {
				t.Errorf("%s with Accept-Encoding %s has another content", path, accept)
			}
			if accept == "gzip" {
				total += len(a.body)
			}
		}
	}
	const most = 120 << 10
	if total == 0 || total > most {
		t.Errorf("the files have %d bytes compressed, want at most %d", total, most)
	}
}

func TestUI_ServesTheAPI(t *testing.T) {
	t.Parallel()
	r := serveUI(t, nil)
	r.sent("work", `{"key":"k"}`)
	if got := r.get("work", "key:k"); got.Key != "k" {
		t.Errorf("%+v", got)
	}
	r.do("GET", "/nothing", "").wantProblem(http.StatusNotFound, "not_found", "")
	api := serve(t, nil)
	for _, path := range []string{"/", "/session", "/assets/app.js"} {
		api.do("GET", path, "").wantProblem(http.StatusNotFound, "not_found", "")
	}
}

func TestUI_MountedBelowAPath(t *testing.T) {
	t.Parallel()
	r := serveUI(t, nil)
	mux := http.NewServeMux()
	mux.Handle("/dueq/", http.StripPrefix("/dueq", r.server.Config.Handler))
	r.server.Config.Handler = mux
	page := r.do("GET", "/dueq/", "").want(http.StatusOK)
	script := regexp.MustCompile(`src="(assets/[^"]+)"`).FindSubmatch(page.body)
	if script == nil {
		t.Fatalf("no script in the page:\n%s", page.body)
	}
	r.do("GET", "/dueq/"+string(script[1]), "").want(http.StatusOK)
	r.do("GET", "/dueq/v1/queues", "").want(http.StatusOK)
}

// caller is what GET and POST /session answer.
type caller struct {
	Name     string
	Scopes   []string
	Queues   []string
	ReadOnly bool `json:"read_only"`
	Build    string
}

// cookie returns the session's cookie that an answer sets.
func (a answer) cookie() *http.Cookie {
	a.Helper()
	response := http.Response{Header: a.header}
	for _, c := range response.Cookies() {
		if c.Name == "dueq_session" {
			return c
		}
	}
	a.Fatalf("%s sets no cookie: %v", a.what, a.header)
	return nil
}

// within returns an answer to a request with a cookie.
func (r *rig) within(c *http.Cookie, method, path, body string) answer {
	r.Helper()
	request := r.request(method, path, body)
	request.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	return r.send(request)
}

func TestUI_SessionHasTheRightsOfItsToken(t *testing.T) {
	t.Parallel()
	r := serveUI(t, &dueqhttp.Options{Tokens: []dueqhttp.Token{
		token("read", nil, dueqhttp.Read), token("mail", []string{"mail-*"}, dueqhttp.Admin),
	}})
	r.do("GET", "/session", "").wantProblem(http.StatusUnauthorized, "unauthorized", "")
	r.do("GET", "/", "").want(http.StatusOK) // the page has no data
	signed := r.do("POST", "/session", `{"token":`+quoted(secretOf("mail"))+`}`).want(http.StatusOK)
	c := signed.cookie()
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "" || c.MaxAge != 12*60*60 || strings.Contains(c.Value, secretOf("mail")) {
		t.Errorf("cookie %+v", c)
	}
	var who caller
	r.within(c, "GET", "/session", "").want(http.StatusOK).into(&who)
	if who.Name != "mail" || !slices.Equal(who.Scopes, []string{"admin"}) || !slices.Equal(who.Queues, []string{"mail-*"}) || who.ReadOnly || who.Build == "" {
		t.Errorf("session %+v", who)
	}
	r.within(c, "POST", "/v1/queues/mail-1/messages", `{}`).want(http.StatusCreated)
	r.within(c, "POST", "/v1/queues/orders/messages", `{}`).wantProblem(http.StatusForbidden, "forbidden", "")
	reader := r.do("POST", "/session", `{"token":`+quoted(secretOf("read"))+`}`).cookie()
	r.within(reader, "GET", "/v1/queues/mail-1", "").want(http.StatusOK)
	r.within(reader, "POST", "/v1/queues/mail-1/pause", "").wantProblem(http.StatusForbidden, "forbidden", "")
	if log := r.logged.String(); strings.Contains(log, secretOf("mail")) || strings.Contains(log, c.Value) || !strings.Contains(log, "caller=mail") {
		t.Errorf("the log has a secret, or not the name of the token:\n%s", log)
	}
}

func TestUI_SessionEnds(t *testing.T) {
	t.Parallel()
	r := serveUI(t, &dueqhttp.Options{Tokens: []dueqhttp.Token{token("read", nil, dueqhttp.Read)}})
	c := r.do("POST", "/session", `{"token":`+quoted(secretOf("read"))+`}`).cookie()
	if ended := r.within(c, "DELETE", "/session", "").want(http.StatusNoContent).cookie(); ended.MaxAge >= 0 || ended.Value != "" {
		t.Errorf("the cookie after signing out: %+v", ended)
	}
	for _, value := range []string{"", "!", "d3Jvbmc"} {
		r.within(&http.Cookie{Name: "dueq_session", Value: value}, "GET", "/v1/queues", "").wantProblem(http.StatusUnauthorized, "unauthorized", "")
	}
	// A header wins over the cookie, so that a program's token is never silently another one.
	request := r.request("GET", "/v1/queues", "")
	request.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	request.Header.Set("Authorization", "Bearer wrong")
	r.send(request).wantProblem(http.StatusUnauthorized, "unauthorized", "")
	api := guarded(t, dueqhttp.Options{})
	api.within(c, "GET", "/v1/queues", "").wantProblem(http.StatusUnauthorized, "unauthorized", "")
}

func TestUI_UnknownTokensCannotBeTriedWithoutEnd(t *testing.T) {
	t.Parallel()
	r := serveUI(t, &dueqhttp.Options{Tokens: []dueqhttp.Token{token("read", nil, dueqhttp.Read)}})
	for range 20 {
		r.do("POST", "/session", `{"token":"wrong"}`).wantProblem(http.StatusUnauthorized, "unauthorized", "")
	}
	r.do("POST", "/session", `{"token":"wrong"}`).wantProblem(http.StatusTooManyRequests, "too_many_failures", "")
	r.do("POST", "/session", `{"token":`+quoted(secretOf("read"))+`}`).want(http.StatusOK)
	r.do("POST", "/session", `{}`).wantProblem(http.StatusBadRequest, "invalid", "token")
}

func TestUI_OtherPagesCannotUseTheSession(t *testing.T) {
	t.Parallel()
	r := serveUI(t, &dueqhttp.Options{Tokens: []dueqhttp.Token{token("admin", nil, dueqhttp.Admin)}})
	c := r.do("POST", "/session", `{"token":`+quoted(secretOf("admin"))+`}`).cookie()
	for name, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "same-site"} {
		for _, method := range []string{"POST", "DELETE"} {
			request := r.request(method, "/session", "")
			request.Header.Set(name, value)
			r.send(request).wantProblem(http.StatusForbidden, "cross_origin", "")
		}
		request := r.request("POST", "/v1/queues/work/pause", "")
		request.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		request.Header.Set(name, value)
		r.send(request).wantProblem(http.StatusForbidden, "cross_origin", "")
	}
}

func TestUI_CookieIsSecureBehindTLS(t *testing.T) {
	t.Parallel()
	r := serveUI(t, &dueqhttp.Options{Tokens: []dueqhttp.Token{token("read", nil, dueqhttp.Read)}})
	request := r.request("POST", "/session", `{"token":`+quoted(secretOf("read"))+`}`)
	request.Header.Set("Origin", "https://"+request.Host)
	if c := r.send(request).want(http.StatusOK).cookie(); !c.Secure {
		t.Errorf("cookie %+v", c)
	}
}

func TestUI_WithoutTokensAndReadOnly(t *testing.T) {
	t.Parallel()
	r := serveUI(t, &dueqhttp.Options{ReadOnly: true})
	for _, method := range []string{"GET", "POST"} {
		var who caller
		a := r.do(method, "/session", "").want(http.StatusOK)
		if a.into(&who); who.Name != "" || !slices.Equal(who.Scopes, []string{"admin"}) || !who.ReadOnly || a.header.Get("Set-Cookie") != "" {
			t.Errorf("session %+v %v", who, a.header)
		}
	}
	r.do("POST", "/v1/queues/work/pause", "").wantProblem(http.StatusForbidden, "forbidden", "")
}
