package httpstore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
)

const (
	// silence is how long a server may send nothing, neither events nor heartbeats, until it
	// counts as gone. A heartbeat comes every 10 s.
	silence = 30 * time.Second
	// maxEventLine bounds a line of the stream.
	maxEventLine = 4 << 10
)

// Watch implements store.Store. If the stream of events ends, it returns ErrUnavailable, and the
// caller watches again.
func (s *Store) Watch(ctx context.Context, queue string, notify func(store.Event)) error {
	if err := store.ValidateQueue(queue); err != nil {
		return err
	}
	if s.closing.Err() != nil {
		return store.ErrClosed
	}
	watching, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(s.closing, end)() //nolint:contextcheck // the end of the store ends the watch, too
	err := s.watch(watching, end, queue, notify)
	switch {
	case ctx.Err() != nil:
		return nil
	case s.closing.Err() != nil:
		return store.ErrClosed
	}
	notify(store.Event{Kind: store.EventGap})
	return err
}

// watch passes events on until the stream ends. It calls end when the server is silent.
func (s *Store) watch(ctx context.Context, end func(), queue string, notify func(store.Event)) error {
	silent := time.AfterFunc(silence, end)
	defer silent.Stop()
	request, err := encode(wire.Call[wire.None]{Queue: queue})
	if err != nil {
		return err
	}
	response, err := s.post(ctx, wire.Watch, queue, request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK || response.Header.Get(wire.Answer) == "" {
		body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		if err != nil {
			return s.unreachable(err)
		}
		_, err = s.refusal(response, body)
		return err
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxEventLine)
	for lines.Scan() {
		silent.Reset(silence)
		if text, ok := bytes.CutPrefix(lines.Bytes(), []byte(wire.EventPrefix)); ok {
			var e store.Event
			if err := json.Unmarshal(text, &e); err != nil {
				return fmt.Errorf("an event of %s cannot be read: %w", s.server, store.ErrCorrupt)
			}
			notify(e)
		}
	}
	err = lines.Err()
	if err == nil {
		err = errors.New("the stream of events has ended")
	}
	return s.unreachable(err)
}
