package httpstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/dueq-dev/dueq/internal/reach"
	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
)

const (
	// callTimeout is how long a call is repeated when its context has no deadline, besides transfer.
	callTimeout = 10 * time.Second
	// firstTry is how long the first try may take besides transfer, so that a connection that hangs
	// is given up. Each try may take twice as long as the one before.
	firstTry   = 5 * time.Second
	longestTry = 40 * time.Second
	// slowest is the rate in bytes a second at which a request must be sent and read.
	slowest     = 256 << 10
	firstPause  = 8 * time.Millisecond
	longPause   = 500 * time.Millisecond
	maxDoubling = 10
)

// transfer returns how long a request may be on its way.
func transfer(body []byte) time.Duration { return time.Duration(len(body)/slowest) * time.Second }

// maxAnswer bounds what is read of an answer: far more than any store answers with.
const maxAnswer = 64 << 20

// call calls a method until the server answers, up to the context's deadline or for callTimeout.
// request returns the request of a try, the first of which is 0.
func call[R, A any](ctx context.Context, s *Store, method string, request func(try int) wire.Call[R]) (answer A, err error) {
	if s.closing.Err() != nil {
		return answer, store.ErrClosed
	}
	if ctx.Err() != nil {
		return answer, ctx.Err()
	}
	first := request(0)
	body, err := encode(first)
	if err != nil {
		return answer, err
	}
	bound, end := s.bound(ctx, callTimeout+transfer(body))
	defer end()
	var cause error
	for try := 0; ; try++ {
		again, err := s.try(bound, try, method, first.Queue, body, &answer)
		if !again || reach.IsAtOnce(ctx) && reach.Refused(err) {
			return answer, err
		}
		if cause == nil || bound.Err() == nil { // the error of a try that was ended says less
			cause = err
		}
		if !pause(bound, try) {
			return answer, s.ended(ctx, cause)
		}
		if body, err = encode(request(try + 1)); err != nil {
			return answer, err
		}
	}
}

// encode returns a request as JSON.
func encode(request any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(request); err != nil {
		return nil, fmt.Errorf("encode the request: %w: %w", err, store.ErrInvalid)
	}
	return body.Bytes(), nil
}

// once is the request of a call whose repetitions do not differ.
func once[R any](queue string, partition int, r R) func(int) wire.Call[R] {
	return func(int) wire.Call[R] { return wire.Call[R]{Queue: queue, Partition: partition, Request: r} }
}

// bound returns a context that ends with ctx, when the store is closed, and after a span if ctx has
// no deadline.
func (s *Store) bound(ctx context.Context, span time.Duration) (bound context.Context, end func()) {
	if deadline, ok := ctx.Deadline(); ok {
		span = time.Until(deadline)
	}
	ctx, cancel := context.WithTimeout(ctx, span)
	forget := context.AfterFunc(s.closing, cancel)
	return ctx, func() {
		forget()
		cancel()
	}
}

// ended returns the error of a call that was repeated until its context ended.
func (s *Store) ended(ctx context.Context, cause error) error {
	switch {
	case s.closing.Err() != nil:
		return store.ErrClosed
	case ctx.Err() == nil:
		return fmt.Errorf("no success for more than %s: %w", callTimeout, cause)
	case errors.Is(cause, ctx.Err()):
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}

// pause waits before the next try, a little longer each time. It returns false if ctx ends.
func pause(ctx context.Context, try int) bool {
	d := min(firstPause<<min(try, maxDoubling), longPause)
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// try makes a call once. It reports whether repeating it may help.
func (s *Store) try(ctx context.Context, try int, method, queue string, request []byte, answer any) (again bool, err error) {
	ctx, end := context.WithTimeout(ctx, min(firstTry<<min(try, maxDoubling), longestTry)+transfer(request))
	defer end()
	response, err := s.post(ctx, method, queue, request)
	if err != nil {
		return !errors.Is(err, store.ErrInvalid), err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return true, s.unreachable(err)
	}
	s.learn(queue, response)
	if response.StatusCode != http.StatusOK || response.Header.Get(wire.Answer) == "" {
		return s.refusal(response, body)
	}
	if err := json.Unmarshal(body, answer); err != nil || len(body) > maxAnswer {
		return false, fmt.Errorf("the answer of %s cannot be read: %w", s.server, store.ErrCorrupt)
	}
	return false, nil
}

// post sends a request.
func (s *Store) post(ctx context.Context, method, queue string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server+wire.Path+method, bytes.NewReader(body))
	if err != nil {
		return nil, store.Invalid("url", "%w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	if version := s.version(queue); version != "" {
		r.Header.Set(wire.Known, version)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return nil, s.unreachable(err)
	}
	return response, nil
}

// unreachable returns the error of a server that did not answer. The call may have been applied.
func (s *Store) unreachable(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	return fmt.Errorf("%s does not answer: %w: %w", s.server, err, store.ErrUnavailable)
}
