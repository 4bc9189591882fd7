package dueqhttp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

func TestReceive_HandsOutWhatIsDue(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	id := r.sent("work", `{"body":"1","key":"k","headers":{"A":"b"},"max_attempts":1,"ttl":"1h"}`)
	got := r.received("work")
	if got.ID != id || got.Body != "1" || got.Key != "k" || got.Headers["A"] != "b" || got.Attempt != 1 || got.MaxAttempts != 1 ||
		!got.LastAttempt || got.IdempotencyKey != id || got.Receipt == "" || got.ExpiresAt == "" {
		t.Errorf("received %+v", got)
	}
	r.do("POST", "/v1/queues/work/receive", "").want(http.StatusNoContent)
}

func TestReceive_BadInput(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.sent("work", `{}`)
	for body, field := range map[string]string{
		`{"max":0}`: "max", `{"max":-1}`: "max", `{"max":501}`: "max", `{"max":2147483648}`: "max", `{"max":"1e9"}`: "max",
		`{"wait":"61s"}`: "wait", `{"wait":"-1s"}`: "wait", `{"lease":"0s"}`: "lease", `{"lease":"999ms"}`: "lease", `{"lease":"13h"}`: "lease",
	} {
		r.do("POST", "/v1/queues/work/receive", body).wantProblem(http.StatusBadRequest, "invalid", field)
	}
	r.do("POST", "/v1/queues/work/receive?wait=1s", `{}`).wantProblem(http.StatusBadRequest, "invalid", "wait")
	r.do("POST", "/v1/queues/missing/receive", `{}`).wantProblem(http.StatusNotFound, "not_found", "")
	r.do("POST", "/v1/queues/work/pause", ``).want(http.StatusNoContent)
	r.do("POST", "/v1/queues/work/receive", `{}`).wantProblem(http.StatusLocked, "paused", "")
	r.do("POST", "/v1/queues/work/resume", ``).want(http.StatusNoContent)
	r.received("work")
}

// inBubble runs test with a handler, without a network, in synthetic time.
func inBubble(t *testing.T, test func(t *testing.T, client *dueq.Client, h http.Handler, stop func())) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		client, err := dueq.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		stopping, stop := context.WithCancel(t.Context())
		h, err := dueqhttp.Handler(client, &dueqhttp.Options{Stopping: stopping, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		test(t, client, h, stop)
		stop()
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// ask makes a request in its own goroutine.
func ask(ctx context.Context, h http.Handler, w http.ResponseWriter, path, body string) (answered <-chan struct{}) {
	request := httptest.NewRequestWithContext(ctx, "POST", "http://localhost"+path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(w, request)
	}()
	return done
}

func TestReceive_WaitsUntilAMessageIsDue(t *testing.T) {
	inBubble(t, func(t *testing.T, client *dueq.Client, h http.Handler, _ func()) {
		if _, err := client.Queue("work").Send(t.Context(), dueq.Message{Delay: 20 * time.Second}); err != nil {
			t.Fatal(err)
		}
		began, w := time.Now(), httptest.NewRecorder()
		<-ask(t.Context(), h, w, "/v1/queues/work/receive", `{"wait":"30s"}`)
		if took := time.Since(began); w.Code != http.StatusOK || took < 20*time.Second || took > 21*time.Second {
			t.Errorf("status %d after %s, want 200 after 20s", w.Code, took)
		}
		began, w = time.Now(), httptest.NewRecorder()
		<-ask(t.Context(), h, w, "/v1/queues/work/receive", `{"wait":"7s"}`)
		if took := time.Since(began); w.Code != http.StatusNoContent || took != 7*time.Second {
			t.Errorf("status %d after %s, want 204 after 7s", w.Code, took)
		}
	})
}

func TestReceive_StoppingEndsTheWait(t *testing.T) {
	inBubble(t, func(t *testing.T, client *dueq.Client, h http.Handler, stop func()) {
		if err := client.Queue("work").Create(t.Context(), dueq.Settings{}); err != nil {
			t.Fatal(err)
		}
		began, w := time.Now(), httptest.NewRecorder()
		answered := ask(t.Context(), h, w, "/v1/queues/work/receive", `{"wait":"1m"}`)
		synctest.Wait()
		stop()
		<-answered
		if took := time.Since(began); w.Code != http.StatusNoContent || took != 0 {
			t.Errorf("status %d after %s, want 204 at once", w.Code, took)
		}
		ready := httptest.NewRecorder()
		h.ServeHTTP(ready, httptest.NewRequest(http.MethodGet, "http://localhost/readyz", nil))
		if ready.Code != http.StatusServiceUnavailable {
			t.Errorf("readyz: %d, want 503", ready.Code)
		}
	})
}

func TestReceive_CallerThatHangsUpGetsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, client *dueq.Client, h http.Handler, _ func()) {
		q := client.Queue("work")
		if err := q.Create(t.Context(), dueq.Settings{}); err != nil {
			t.Fatal(err)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		answered := ask(ctx, h, httptest.NewRecorder(), "/v1/queues/work/receive", `{"wait":"1m"}`)
		synctest.Wait()
		hangUp()
		<-answered
		if _, err := q.Send(t.Context(), dueq.Message{}); err != nil {
			t.Fatal(err)
		}
		wantReady(t, q)
	})
}

// brokenWriter is the writer of an answer whose connection is gone.
type brokenWriter struct {
	*httptest.ResponseRecorder
	flush error
}

func (w *brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (w *brokenWriter) FlushError() error         { return w.flush }

func TestReceive_DeliveryThatCannotBeWrittenIsReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, client *dueq.Client, h http.Handler, _ func()) {
		q := client.Queue("work")
		for range 3 {
			if _, err := q.Send(t.Context(), dueq.Message{}); err != nil {
				t.Fatal(err)
			}
		}
		w := &brokenWriter{httptest.NewRecorder(), errors.New("broken pipe")}
		<-ask(t.Context(), h, w, "/v1/queues/work/receive", `{"max":3,"lease":"12h"}`)
		s, err := q.Stats(t.Context())
		if err != nil || s.Ready != 3 || s.Leased != 0 || s.Counters.Delivered != 3 {
			t.Errorf("%d ready, %d leased, %d delivered (%v), want 3 ready that were delivered", s.Ready, s.Leased, s.Counters.Delivered, err)
		}
	})
}

// hastyWriter is the writer of an answer to a caller that closes the connection as soon as it has it.
type hastyWriter struct {
	*httptest.ResponseRecorder
	hangUp context.CancelFunc
}

func (w *hastyWriter) FlushError() error { w.hangUp(); return nil }

func TestReceive_CallerThatHasTheAnswerKeepsTheDelivery(t *testing.T) {
	inBubble(t, func(t *testing.T, client *dueq.Client, h http.Handler, _ func()) {
		q := client.Queue("work")
		if _, err := q.Send(t.Context(), dueq.Message{}); err != nil {
			t.Fatal(err)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		<-ask(ctx, h, &hastyWriter{httptest.NewRecorder(), hangUp}, "/v1/queues/work/receive", `{}`)
		s, err := q.Stats(t.Context())
		if err != nil || s.Leased != 1 || s.Ready != 0 {
			t.Errorf("%d leased, %d ready (%v), want 1 that the caller holds", s.Leased, s.Ready, err)
		}
	})
}

// wantReady fails the test unless the queue has one message that is ready and was never held
// longer than it takes to release it.
func wantReady(t *testing.T, q *dueq.Queue) {
	t.Helper()
	synctest.Wait()
	s, err := q.Stats(t.Context())
	if err != nil || s.Ready != 1 || s.Leased != 0 {
		t.Errorf("%d ready, %d leased (%v), want 1 that is ready", s.Ready, s.Leased, err)
	}
}

func TestReceive_ClosedConnectionEndsTheWaitOnTheServer(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	if err := r.client.Queue("work").Create(t.Context(), dueq.Settings{}); err != nil {
		t.Fatal(err)
	}
	ctx, hangUp := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer hangUp()
	request := r.request("POST", "/v1/queues/work/receive", `{"wait":"1m","lease":"12h"}`).WithContext(ctx)
	if response, err := r.server.Client().Do(request); err == nil {
		_ = response.Body.Close()
		t.Fatal("the request was answered")
	}
	// The access log has a line when the request has ended on the server.
	r.logged.await("path=/v1/queues/work/receive")
	r.sent("work", `{}`)
	if got := r.received("work"); got.Attempt != 1 {
		t.Errorf("attempt %d, want 1: the request that was given up has claimed the message", got.Attempt)
	}
}

// clocked is a writer that records the deadlines of its connection.
type clocked struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (c *clocked) SetReadDeadline(t time.Time) error {
	c.read = append(c.read, t)
	return nil
}

func (c *clocked) SetWriteDeadline(t time.Time) error {
	c.write = append(c.write, t)
	return nil
}

// A deadline that is still set while a request waits would look as if the caller had hung up.
func TestReceive_DeadlinesAreForTheBodyAndTheAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, client *dueq.Client, h http.Handler, _ func()) {
		if err := client.Queue("work").Create(t.Context(), dueq.Settings{}); err != nil {
			t.Fatal(err)
		}
		began, w := time.Now(), &clocked{ResponseRecorder: httptest.NewRecorder()}
		<-ask(t.Context(), h, w, "/v1/queues/work/receive", `{"wait":"1m"}`)
		if len(w.read) != 2 || !w.read[0].Equal(began.Add(30*time.Second)) || !w.read[1].IsZero() {
			t.Errorf("read deadlines %v, want one in 30s, and then none", w.read)
		}
		if len(w.write) != 1 || !w.write[0].Equal(began.Add(90*time.Second)) {
			t.Errorf("write deadlines %v, want one 30s after the answer", w.write)
		}
	})
}

// late is a body that did not arrive before the deadline.
type late struct{}

func (late) Read([]byte) (int, error) { return 0, fmt.Errorf("read: %w", os.ErrDeadlineExceeded) }

func TestLimits_LateBodyIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *dueq.Client, h http.Handler, _ func()) {
		w, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "http://localhost/v1/queues/work/messages", late{})
		request.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, request)
		answer{&rig{T: t}, "POST", w.Code, w.Header(), w.Body.Bytes()}.wantProblem(http.StatusRequestTimeout, "timeout", "")
	})
}
