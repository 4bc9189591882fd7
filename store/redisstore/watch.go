package redisstore

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// pingEvery is how often a watch asks whether its connection is alive. One that has been
// silent for twice as long is given up.
const pingEvery = 10 * time.Second

// Watch implements store.Store, on a connection of its own. It returns nil when ctx ends
// and ErrClosed when the store is closed; whatever else happens it subscribes again.
func (s *Store) Watch(ctx context.Context, queue string, notify func(store.Event)) error {
	if err := store.ValidateQueue(queue); err != nil {
		return err
	}
	switch {
	case s.closed.Load():
		return store.ErrClosed
	case s.invalid != nil:
		return s.invalid
	}
	for attempt := 0; ctx.Err() == nil; attempt++ {
		if s.listen(ctx, queue, notify) {
			attempt = 0
		}
		if s.closed.Load() {
			return store.ErrClosed
		}
		if ctx.Err() == nil {
			_ = s.wait(ctx, attempt) // what ended the wait is seen in the next round
		}
	}
	return nil
}

// listen subscribes once and passes events on until the connection fails, ctx ends or
// the store is closed. It reports whether it got as far as being subscribed.
func (s *Store) listen(ctx context.Context, queue string, notify func(store.Event)) bool {
	ctx, cancel := context.WithCancel(ctx)
	sub := s.rdb.Subscribe(ctx, s.eventsChannel(queue))
	heard := make(chan struct{}, 1)
	var background sync.WaitGroup
	background.Go(func() { s.keepAlive(ctx, sub, heard) })
	defer background.Wait()
	defer cancel()
	subscribed := false
	for {
		// ctx only ends a Receive that is connecting: keepAlive closes sub to end the others.
		message, err := sub.Receive(ctx)
		if err != nil {
			return subscribed
		}
		select {
		case heard <- struct{}{}:
		default:
		}
		switch m := message.(type) {
		case *redis.Subscription:
			subscribed = true
			notify(store.Event{Kind: store.EventResync})
		case *redis.Message:
			if e, ok := parseEvent(m.Payload); ok {
				notify(e)
			}
		}
	}
}

// keepAlive pings a subscription, and closes it when it is silent or no longer wanted.
func (s *Store) keepAlive(ctx context.Context, sub *redis.PubSub, heard <-chan struct{}) {
	defer func() { _ = sub.Close() }()
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for silent := 0; silent < 2; {
		select {
		case <-ctx.Done():
			return
		case <-s.closing:
			return
		case <-heard:
			silent = 0
		case <-tick.C:
			silent++
			if sub.Ping(ctx) != nil {
				return
			}
		}
	}
}

// parseEvent reads "wake p" or "stop p id".
func parseEvent(payload string) (store.Event, bool) {
	kind, rest, _ := strings.Cut(payload, " ")
	index, id, _ := strings.Cut(rest, " ")
	p, err := strconv.Atoi(index)
	e := store.Event{Kind: store.EventKind(kind), Partition: p}
	if err != nil || p < 0 || p >= store.MaxPartitions {
		return store.Event{}, false
	}
	switch e.Kind {
	case store.EventWake:
		return e, id == ""
	case store.EventStop:
		e.ID, err = store.ParseID(id)
		return e, err == nil
	default:
		return store.Event{}, false
	}
}
