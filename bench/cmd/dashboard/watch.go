package main

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/rawredis"
)

// watch notes the calls of the store.
type watch struct {
	mu    sync.Mutex
	calls map[string]calls
	redis *rawredis.Server // nil: the store is no Redis
}

// calls are those of one method, or commands.
type calls struct {
	Count int           `json:"count"`
	Most  time.Duration `json:"most"` // ns
}

func newWatch(url string) (*watch, error) {
	w := &watch{calls: map[string]calls{}}
	if !rawredis.Served(url) {
		return w, nil
	}
	var err error
	w.redis, err = rawredis.Dial(url, "none")
	return w, err
}

func (w *watch) close() error {
	if w.redis == nil {
		return nil
	}
	return w.redis.Close()
}

func (w *watch) note(e dueq.CallEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[e.Call]
	w.calls[e.Call] = calls{c.Count + 1, max(c.Most, e.Took)}
}

// ServeHTTP returns the calls since the request before.
func (w *watch) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	made := w.calls
	w.calls = map[string]calls{}
	w.mu.Unlock()
	answer := map[string]any{"calls": made}
	if w.redis != nil {
		n, longest, err := w.redis.Longest(r.Context())
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		answer["redis"] = calls{n, longest}
	}
	_ = json.NewEncoder(out).Encode(answer) // the browser has gone
}
