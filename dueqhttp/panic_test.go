package dueqhttp_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

func TestPanic_InAnotherGoroutineEndsOnlyItsRequest(t *testing.T) {
	t.Parallel()
	r := broken(t, nil)
	if err := r.client.Queue("work").Create(t.Context(), dueq.Settings{}); err != nil {
		t.Fatal(err)
	}
	r.do("GET", "/v1/members", "").wantProblem(http.StatusInternalServerError, "internal", "")
	if log := r.logged.String(); !strings.Contains(log, "a fault, in another goroutine") || !strings.Contains(log, "status=500") {
		t.Errorf("the log is\n%s", log)
	}
}

// An answer that has begun cannot become a problem: it must not look like a whole one.
func TestPanic_AnswerThatHasBegunIsBrokenOff(t *testing.T) {
	t.Parallel()
	r := broken(t, nil)
	response, err := r.server.Client().Do(r.request("POST", "/v1/store/watch", `{"queue":"work"}`))
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	if err == nil {
		t.Error("the answer looks like a whole one")
	}
	r.do("GET", "/livez", "").want(http.StatusNoContent)
	if log := r.logged.String(); !strings.Contains(log, "a fault") || !strings.Contains(log, "path=/v1/store/watch") {
		t.Errorf("the log is\n%s", log)
	}
}

// confused is a store that panics when it is looked at.
type confused struct{ store.Store }

func (confused) Stats(context.Context, string) ([]store.Stats, error) { panic("a fault") }

func TestPanic_WhileTheStoreIsLookedAtForReadersOfEvents(t *testing.T) {
	t.Parallel()
	r := serveOver(t, confused{embedded.NewMemory(embedded.Config{})}, nil)
	r.do("GET", "/v1/events", "").wantProblem(http.StatusInternalServerError, "internal", "")
	r.do("GET", "/livez", "").want(http.StatusNoContent)
	if log := r.logged.String(); !strings.Contains(log, "value=\"a fault\"") {
		t.Errorf("the log is\n%s", log)
	}
}
