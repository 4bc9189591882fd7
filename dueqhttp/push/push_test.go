package push

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqtest"
)

func TestHandler_AnswerDecidesWhatBecomesOfTheMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer   answers
		state    dueq.State // "": it is gone
		failures int
		snoozes  int
		text     string // the failure
		wait     time.Duration
	}{
		"200":                     {answer: always(200, "thanks")},
		"204":                     {answer: always(204, "")},
		"299":                     {answer: always(299, "")},
		"302":                     {always(302, "", "Location", "https://shop.example/other"), dueq.Scheduled, 1, 0, "shop.example: 302 Found", 16 * time.Second},
		"500":                     {always(500, "the database\n is away \xff\x01"), dueq.Scheduled, 1, 0, "shop.example: 500 Internal Server Error: the database is away \x01", 16 * time.Second},
		"400 that is a failure":   {always(400, ""), dueq.Scheduled, 1, 0, "shop.example: 400 Bad Request", 16 * time.Second},
		"422 that rejects":        {always(422, "no such order"), dueq.Dead, 1, 0, "shop.example: 422 Unprocessable Entity: no such order", 0},
		"429":                     {always(429, ""), dueq.Scheduled, 1, 0, "shop.example: 429 Too Many Requests", 16 * time.Second},
		"429 with Retry-After":    {always(429, "slowly", "Retry-After", "90"), dueq.Scheduled, 0, 1, "snoozed: shop.example: 429 Too Many Requests: slowly", 90 * time.Second},
		"503 with Retry-After":    {always(503, "", "Retry-After", "7"), dueq.Scheduled, 0, 1, "snoozed: shop.example: 503 Service Unavailable", 7 * time.Second},
		"500 with Retry-After":    {always(500, "", "Retry-After", "7"), dueq.Scheduled, 1, 0, "shop.example: 500 Internal Server Error", 16 * time.Second},
		"a long answer":           {always(500, strings.Repeat("é", 5000)), dueq.Scheduled, 1, 0, "shop.example: 500 Internal Server Error: " + strings.Repeat("é", 256), 16 * time.Second},
		"no answer":               {func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }, dueq.Scheduled, 1, 0, "shop.example: refused", 16 * time.Second},
		"an answer that breaks":   {brokenAfter(200), "", 0, 0, "", 0},
		"a failure that breaks":   {brokenAfter(500), dueq.Scheduled, 1, 0, "shop.example: 500 Internal Server Error: half", 16 * time.Second},
		"a status without a text": {always(599, ""), dueq.Scheduled, 1, 0, "shop.example: 599", 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dueqtest.New(t)
			id := client.Send("orders", dueq.Message{})
			client.Deliver("orders", handler(t, Target{URL: "https://shop.example/hooks/secret-part?k=secret-part", Transport: c.answer, Reject: []int{422}}))
			r, err := client.Queue("orders").Get(t.Context(), dueq.ID(id))
			if c.state == "" {
				if !errors.Is(err, dueq.ErrNotFound) {
					t.Errorf("%+v, %v, want that it is acked", r, err)
				}
				return
			}
			if err != nil || r.State != c.state || r.Failures != c.failures || r.Snoozes != c.snoozes || r.LastFailure != c.text {
				t.Errorf("%s with %d failures, %d snoozes and %q, %v, want %+v", r.State, r.Failures, r.Snoozes, r.LastFailure, err, c)
			}
			if wait := r.At.Sub(client.Now()); c.state == dueq.Scheduled && wait != c.wait {
				t.Errorf("due in %s, want %s", wait, c.wait)
			}
		})
	}
}

// brokenAfter answers with a status and half of a body.
func brokenAfter(status int) answers {
	return func(*http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader("half"), failing{})
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body)}, nil
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestHandler_RequestHasTheMessage(t *testing.T) {
	t.Parallel()
	client := dueqtest.New(t)
	body := []byte("\x00\xff{ \"a\" : 1 }\r\n")
	id := client.Send("orders", dueq.Message{
		Body: body, Key: "order 42/ä", MaxAttempts: 3,
		Headers: map[string]string{"tenant": "blå", "content-type": "application/x-order", "Authorization": "of the message"},
	})
	var got *http.Request
	var gotBody []byte
	h := handler(t, Target{Secrets: []string{secretText}, Transport: answers(func(r *http.Request) (*http.Response, error) {
		got = r
		gotBody, _ = io.ReadAll(r.Body)
		return always(500, "")(r)
	})})
	client.Deliver("orders", h)
	client.Advance(time.Hour)
	client.Deliver("orders", h)
	if !bytes.Equal(gotBody, body) || got.Method != http.MethodPost || got.URL.String() != "https://shop.example/hooks/orders" || got.ContentLength != int64(len(body)) {
		t.Errorf("%s %s with %d bytes: %q", got.Method, got.URL, got.ContentLength, gotBody)
	}
	due, err := time.Parse(time.RFC3339Nano, got.Header.Get("Dueq-Due"))
	if wait := client.Now().Sub(due); err != nil || wait != time.Hour-16*time.Second {
		t.Errorf("due %s ago, %v", wait, err)
	}
	for name, want := range map[string]string{
		"Dueq-Queue": "orders", "Dueq-Id": id, "Dueq-Key": "order%2042%2F%C3%A4", "Dueq-Attempt": "2", "Dueq-Failures": "1",
		"Dueq-Max-Attempts": "3", "Dueq-Token": "2", "Webhook-Id": id, "Content-Type": "application/x-order",
		"Dueq-Header-Tenant": "blå", "Dueq-Header-Content-Type": "application/x-order", "Dueq-Header-Authorization": "of the message",
		"Authorization": "", "Tenant": "", "User-Agent": "dueq",
	} {
		if values := got.Header.Values(name); len(values) > 1 || got.Header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, values, want)
		}
	}
}

func TestHandler_ContentTypeOfTheTarget(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"": "application/octet-stream", "application/json": "application/json"} {
		h := handler(t, Target{ContentType: given, Transport: answers(func(r *http.Request) (*http.Response, error) {
			if got := r.Header.Get("Content-Type"); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			return always(200, "")(r)
		})})
		if err := post(t.Context(), h); err != nil {
			t.Error(err)
		}
	}
}

// The values are those of the test suite of Standard Webhooks.
func TestSignature_StandardWebhooks(t *testing.T) {
	t.Parallel()
	secret, err := parseSecret(secretText)
	if err != nil {
		t.Fatal(err)
	}
	got := signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Error(got)
	}
}

func TestHandler_EachSecretSigns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		other := "whsec_" + strings.Repeat("QUFB", 8)
		var got http.Header
		transport := answers(func(r *http.Request) (*http.Response, error) {
			got = r.Header
			return always(200, "")(r)
		})
		d := &dueq.Delivery{ID: "1", Attempt: 1, Token: 4, Body: []byte("body")} // a later occurrence
		if err := handler(t, Target{Secrets: []string{secretText, other}, Transport: transport})(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		want := ""
		for i, text := range []string{secretText, other} {
			secret, _ := parseSecret(text)
			want += strings.Repeat(" ", i) + signature(secret, "1_3", "946684800", []byte("body")) // when a bubble begins
		}
		if got.Get("Webhook-Id") != "1_3" || got.Get("Webhook-Timestamp") != "946684800" || got.Get("Webhook-Signature") != want {
			t.Errorf("%v, want the signatures %s", got, want)
		}
		if err := handler(t, Target{Transport: transport})(t.Context(), d); err != nil || len(got.Values("Webhook-Signature")) > 0 {
			t.Errorf("without secrets: %v, %v", got, err)
		}
	})
}

func TestHandler_Timeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, Target{Timeout: 3 * time.Second, Transport: answers(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		began := time.Now()
		err := post(t.Context(), h)
		if err == nil || err.Error() != "shop.example: no answer within 3s" || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := post(ctx, h); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the handler's context: %v", err)
		}
	})
}

func TestHandler_RateDistributesRequestsEvenly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		began, times := time.Now(), map[time.Duration]int{}
		h := handler(t, Target{Rate: 4, Transport: answers(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			times[time.Since(began)]++
			return always(200, "")(r)
		})})
		var wait sync.WaitGroup
		for range 5 {
			wait.Go(func() {
				if err := post(t.Context(), h); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		for i := range 5 {
			if at := time.Duration(i) * 250 * time.Millisecond; times[at] != 1 {
				t.Errorf("%d requests after %s, want one: %v", times[at], at, times)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := post(ctx, h); !errors.Is(err, context.DeadlineExceeded) || len(times) != 5 {
			t.Errorf("after the end of the handler's context: %v, %d requests", err, len(times))
		}
	})
}

// An endpoint cannot make the program read without end.
func TestHandler_LongAnswerIsNotReadWhole(t *testing.T) {
	t.Parallel()
	endless := &counted{}
	h := handler(t, Target{Transport: answers(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: endless}, nil
	})})
	if err := post(t.Context(), h); err != nil || endless.read > maxRead+4<<10 || !endless.closed {
		t.Errorf("%v, %d bytes were read, closed: %t", err, endless.read, endless.closed)
	}
}

// counted is an answer without an end.
type counted struct {
	read   int
	closed bool
}

func (c *counted) Read(b []byte) (int, error) {
	c.read += len(b)
	return len(b), nil
}

func (c *counted) Close() error {
	c.closed = true
	return nil
}

func TestRetryAfter_SecondsOrInstant(t *testing.T) {
	t.Parallel()
	const now = "Wed, 21 Oct 2015 07:28:00 GMT"
	for text, want := range map[string]time.Duration{
		"": -1, "soon": -1, "-1": -1, "1.5": -1, "0": time.Second, "1": time.Second, "120": 2 * time.Minute,
		"86400": 24 * time.Hour, "86401": 24 * time.Hour, "99999999999999999999999": 24 * time.Hour, "9223372036854775807": 24 * time.Hour,
		"Wed, 21 Oct 2015 07:29:00 GMT": time.Minute, "Wed, 21 Oct 2015 07:27:00 GMT": time.Second, "Wed, 21 Oct 2099 07:29:00 GMT": 24 * time.Hour,
	} {
		got, asked := retryAfter(&http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {text}, "Date": {now}}})
		if asked != (want >= 0) || asked && got != want {
			t.Errorf("%q: %s, %t, want %s", text, got, asked, want)
		}
	}
	later := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	got, asked := retryAfter(&http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {later}}})
	if !asked || got < 50*time.Minute || got > time.Hour {
		t.Errorf("an instant of an endpoint without a clock: %s, %t", got, asked)
	}
}

func TestHandler_BadTarget(t *testing.T) {
	t.Parallel()
	const url = "https://shop.example/secret-part"
	for _, c := range []struct {
		target Target
		field  string
	}{
		{Target{}, "url"},
		{Target{URL: "secret-part"}, "url"},
		{Target{URL: "//secret-part"}, "url"},
		{Target{URL: "ftp://shop.example/secret-part"}, "url"},
		{Target{URL: "file:///secret-part"}, "url"},
		{Target{URL: "http:secret-part"}, "url"},
		{Target{URL: "https://user:secret-part@shop.example"}, "url"},
		{Target{URL: "https://shop.example/#secret-part"}, "url"},
		{Target{URL: "https://shop.example:secret-part/"}, "url"},
		{Target{URL: "https://shop.example:0/secret-part"}, "url"},
		{Target{URL: "https://shop.example:22/secret-part"}, "url"},
		{Target{URL: "https://shop.example:6379/secret-part"}, "url"},
		{Target{URL: "https://shop.example:65536/secret-part"}, "url"},
		{Target{URL: "https://%zz/secret-part"}, "url"},
		{Target{URL: url, Timeout: -1}, "timeout"},
		{Target{URL: url, Timeout: time.Millisecond}, "timeout"},
		{Target{URL: url, Timeout: 31 * time.Minute}, "timeout"},
		{Target{URL: url, Rate: -1}, "rate"},
		{Target{URL: url, Rate: math.NaN()}, "rate"},
		{Target{URL: url, Rate: math.Inf(1)}, "rate"},
		{Target{URL: url, Rate: 1e-9}, "rate"},
		{Target{URL: url, Reject: []int{399}}, "reject"},
		{Target{URL: url, Reject: []int{410, 500}}, "reject"},
		{Target{URL: url, ContentType: "a\r\nB: c"}, "content type"},
		{Target{URL: url, Allow: []string{"other.example"}}, "allow"},
		{Target{URL: url, Allow: []string{"10.0.0.0/33"}}, "allow"},
		{Target{URL: url, Allow: []string{""}}, "allow"},
		{Target{URL: url, Secrets: []string{"secret-part"}}, "secrets"},
		{Target{URL: url, Secrets: []string{secretText, "whsec_secret-part!"}}, "secrets"},
		{Target{URL: url, Secrets: []string{"whsec_c2VjcmV0LXBhcnQ="}}, "secrets"},
		{Target{URL: url, Secrets: []string{"whsec_" + strings.Repeat("QUFB", 22)}}, "secrets"},
	} {
		_, err := Handler(c.target)
		wantInvalid(t, err, c.field)
		if err != nil && strings.Contains(err.Error(), "secret-part") {
			t.Errorf("the error has a part of the target: %v", err)
		}
	}
}
