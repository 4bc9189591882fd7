package httpstore_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// A watch whose stream breaks says so, and the next one begins with a resync.
func TestWatch_StreamBreaks(t *testing.T) {
	t.Parallel()
	breaking := make(chan struct{})
	server := serve(t, embedded.NewMemory(embedded.Config{}), dueqhttp.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, end := context.WithCancel(r.Context())
			defer end()
			go func() {
				select {
				case <-breaking:
				case <-ctx.Done():
				}
				end()
			}()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	})
	s := open(t, server.URL)
	var got []store.EventKind
	err := s.Watch(t.Context(), "orders", func(e store.Event) {
		if got = append(got, e.Kind); len(got) == 1 {
			close(breaking)
		}
	})
	if !errors.Is(err, store.ErrUnavailable) || len(got) != 2 || got[0] != store.EventResync || got[1] != store.EventGap {
		t.Errorf("events %v, then %v", got, err)
	}
}

func TestWatch_RefusedByTheServer(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded.NewMemory(embedded.Config{}), dueqhttp.Options{Tokens: []dueqhttp.Token{
		{Name: "ops", Scopes: []dueqhttp.Scope{dueqhttp.Admin}},
	}}, unchanged)
	err := open(t, server.URL).Watch(t.Context(), "orders", func(e store.Event) {
		if e.Kind != store.EventGap {
			t.Errorf("event %+v", e)
		}
	})
	if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "token") {
		t.Errorf("error %v", err)
	}
}

// slowCaller is the writer of an answer of which a caller takes the first part only after a while.
type slowCaller struct {
	parts   chan string
	release chan struct{}
}

func (s *slowCaller) Header() http.Header { return http.Header{} }
func (s *slowCaller) WriteHeader(int)     {}
func (s *slowCaller) Flush()              {}
func (s *slowCaller) Write(b []byte) (int, error) {
	<-s.release
	s.parts <- string(b)
	return len(b), nil
}

// The server sends a comment every 10 s, and a caller that is far behind gets a resync in the place
// of what it has missed.
func TestWatch_HeartbeatsAndSlowCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, err := dueq.NewMemory(&dueq.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		handler, err := dueqhttp.Handler(client, &dueqhttp.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		caller := &slowCaller{parts: make(chan string, 10), release: make(chan struct{})}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+wire.Path+wire.Watch, strings.NewReader(`{"queue":"orders"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		done := make(chan struct{})
		go func() {
			defer close(done)
			handler.ServeHTTP(caller, request)
		}()
		synctest.Wait()
		const events = 1024 + 255 // with the store's own pending events, more than the server keeps
		for range events {
			if err := client.Store().Notify(t.Context(), "orders", store.Event{Kind: store.EventLeft}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		close(caller.release)
		if first, second := <-caller.parts, <-caller.parts; first != ":\n\n" || !strings.HasPrefix(second, "data: {\"kind\":\"resync\"}\n\n") || strings.Count(second, "data:") > events/2 {
			t.Errorf("the parts are %q and %d bytes: %.60q", first, len(second), second)
		}
		before := time.Now()
		for range 2 {
			if part := <-caller.parts; part != ":\n\n" {
				t.Errorf("part %q, want a heartbeat", part)
			}
		}
		if took := time.Since(before); took != 20*time.Second {
			t.Errorf("two heartbeats took %s", took)
		}
		end()
		<-done
	})
}
