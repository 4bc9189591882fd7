package redisstore

import (
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/internal/idle"
	"github.com/dueq-dev/dueq/store"
)

// remembered is for how long settings can be restored from the memory of a Store when the
// server has lost them: a queue that was deleted leaves a trace for longer, see remainsTTL.
const remembered = 30 * time.Minute

// knownSettings are the latest settings of a queue that a Store has seen.
type knownSettings struct {
	queueSettings
	confirmed atomic.Int64 // when a server last had them, see Store.age
}

// age returns how old the Store is. It does not follow changes of the clock.
func (s *Store) age() int64 { return int64(time.Since(s.began)) }

// confirm notes that a server has these settings now.
func (s *Store) confirm(k *knownSettings) { k.confirmed.Store(s.age()) }

// recall returns what this Store knows of a queue's settings, nil if nothing.
func (s *Store) recall(queue string) *knownSettings {
	if known, ok := s.known.Load(queue); ok {
		return known.(*knownSettings)
	}
	return nil
}

// restorable is recall for settings that may be written where they are missing.
func (s *Store) restorable(queue string) *knownSettings {
	if k := s.recall(queue); k != nil && s.age()-k.confirmed.Load() < int64(remembered) {
		return k
	}
	return nil
}

// Known implements store.Store.
func (s *Store) Known(queue string) (store.Settings, bool) {
	if known := s.recall(queue); known != nil {
		return known.Settings, true
	}
	return store.Settings{}, false
}

// remember keeps settings that a server has, unless later ones are known.
func (s *Store) remember(queue string, settings queueSettings) {
	s.keep(queue, settings)
	s.hub.grow(queue, settings.Partitions)
}

func (s *Store) keep(queue string, settings queueSettings) {
	found := &knownSettings{queueSettings: settings}
	s.confirm(found)
	for {
		known, loaded := s.known.LoadOrStore(queue, found)
		if !loaded {
			s.tidy.Start()
			return
		}
		k := known.(*knownSettings)
		if k.Version == settings.Version {
			s.confirm(k)
		}
		if k.Version >= settings.Version || s.known.CompareAndSwap(queue, known, found) {
			return
		}
	}
}

// newTidy returns what drops settings of queues that have not been used for long.
func (s *Store) newTidy() *idle.Ticker {
	return idle.NewTicker(remembered, func() (remaining int) {
		s.known.Range(func(queue, k any) bool {
			if known := k.(*knownSettings); s.age()-known.confirmed.Load() < int64(remembered) {
				remaining++
			} else {
				s.known.CompareAndDelete(queue, known)
			}
			return true
		})
		return remaining
	})
}

// forget drops the settings of a queue that was deleted with that version.
func (s *Store) forget(queue string, deleted int64) {
	if k := s.recall(queue); k != nil && k.Version < deleted {
		s.known.CompareAndDelete(queue, k)
	}
}
