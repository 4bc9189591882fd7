package httpstore

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/internal/idle"
	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
)

// known are the latest settings of a queue that answers have had; nil: none, or it was deleted.
type known struct{ atomic.Pointer[store.Settings] }

// keepKnown is how long settings of a queue are kept that is not used.
const keepKnown = 30 * time.Minute

func newKnown() *idle.Map[string, *known] { return idle.NewMap[string, *known](keepKnown, nil) }

func (s *Store) of(queue string) *known {
	return s.known.Get(queue, func(string) *known { return new(known) })
}

// Known implements store.Store.
func (s *Store) Known(queue string) (store.Settings, bool) {
	if found := s.of(queue).Load(); found != nil {
		return *found, true
	}
	return store.Settings{}, false
}

// version returns the version of the settings that are known, as a header.
func (s *Store) version(queue string) string {
	if queue == "" {
		return ""
	}
	if found := s.of(queue).Load(); found != nil {
		return strconv.FormatInt(found.Version, 10)
	}
	return ""
}

// learn takes the settings of a queue from an answer.
func (s *Store) learn(queue string, response *http.Response) {
	text := response.Header.Get(wire.Settings)
	if queue == "" || text == "" {
		return
	}
	k := s.of(queue)
	if text == wire.NoSettings {
		// A server that was started again, and cannot reach its store, knows none either.
		if response.StatusCode == http.StatusOK || response.StatusCode == http.StatusNotFound {
			k.Store(nil)
		}
		return
	}
	found := new(store.Settings)
	if json.Unmarshal([]byte(text), found) != nil {
		return
	}
	for {
		have := k.Load()
		if have != nil && have.Version >= found.Version || k.CompareAndSwap(have, found) {
			return
		}
	}
}
