package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

const (
	// pingEvery is how often a watch asks whether its connection is alive. One that has been
	// silent for twice as long is given up.
	pingEvery = 10 * time.Second
	// refusedPause is the time between two tries to subscribe when the server refuses it.
	refusedPause = time.Minute
)

// Watch implements store.Store, on a connection of its own. It returns nil when ctx ends
// and ErrClosed when the store is closed; whatever else happens it subscribes again. When
// the server refuses that, as to a user without permission for the channel, it logs the
// reason once and tries again each minute: events only shorten the time until a consumer
// polls.
func (s *Store) Watch(ctx context.Context, queue string, notify func(store.Event)) error {
	if err := store.ValidateQueue(queue); err != nil {
		return err
	}
	if s.closed.Load() {
		return store.ErrClosed
	}
	logged := false
	for attempt := 0; ctx.Err() == nil; attempt++ {
		subscribed, err := s.listen(ctx, queue, notify)
		if subscribed {
			attempt, logged = 0, false
			notify(store.Event{Kind: store.EventGap})
		}
		if s.closed.Load() {
			return store.ErrClosed
		}
		switch {
		case ctx.Err() != nil:
		case refused(err):
			if !logged {
				s.config.Logger.WarnContext(ctx, "dueq: Redis refuses the subscription to a queue's events; its messages are found by polling, up to 2 s late",
					slog.String("queue", queue), slog.String("channel", s.eventsChannel(queue)), slog.Any("error", err))
			}
			logged = true
			s.pause(ctx, refusedPause)
		default:
			_ = s.wait(ctx, attempt) // what ended the wait is seen in the next round
		}
	}
	return nil
}

// refused reports whether err is an answer of the server that repeating does not change.
func refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && !transient(err)
}

// pause waits for d, or until ctx ends or the store is closed.
func (s *Store) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.closing:
	}
}

// listen subscribes once and passes events on until the connection fails, ctx ends or
// the store is closed. It reports whether it got as far as being subscribed, and what
// ended it.
func (s *Store) listen(ctx context.Context, queue string, notify func(store.Event)) (subscribed bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	sub := s.rdb.Subscribe(ctx, s.eventsChannel(queue))
	heard := make(chan struct{}, 1)
	var background sync.WaitGroup
	background.Go(func() { s.keepAlive(ctx, sub, heard) })
	defer background.Wait()
	defer cancel()
	for {
		// ctx only ends a Receive that is connecting: keepAlive closes sub to end the others.
		message, err := sub.Receive(ctx)
		if err != nil {
			return subscribed, err
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

// Notify implements store.Store. For a user without permission for the channel it does nothing:
// events are hints.
func (s *Store) Notify(ctx context.Context, queue string, e store.Event) error {
	if err := firstError(store.ValidateQueue(queue), e.ValidateNotice()); err != nil {
		return err
	}
	channel := s.eventsChannel(queue)
	if err := s.start(ctx, "notify", queue, channel); err != nil {
		return err
	}
	_, err := s.repeat(ctx, "notify", queue, func(int) (any, error) {
		return s.rdb.Publish(ctx, channel, eventText(e)).Result()
	})
	if redis.HasErrorPrefix(err, "NOPERM") {
		return nil
	}
	return err
}

func eventText(e store.Event) string {
	text := string(e.Kind) + " " + strconv.Itoa(e.Partition)
	if e.Kind == store.EventHelp {
		text += " " + strconv.Itoa(e.Helpers)
	}
	return text
}

// parseEvent reads "wake p", "stop p id", "help p n", "left p" or "reset p".
func parseEvent(payload string) (store.Event, bool) {
	kind, rest, _ := strings.Cut(payload, " ")
	index, more, _ := strings.Cut(rest, " ")
	p, err := strconv.Atoi(index)
	e := store.Event{Kind: store.EventKind(kind), Partition: p}
	if err != nil || p < 0 || p >= store.MaxPartitions {
		return store.Event{}, false
	}
	switch e.Kind {
	case store.EventWake, store.EventLeft, store.EventReset:
		return e, more == ""
	case store.EventStop:
		e.ID, err = store.ParseID(more)
		return e, err == nil
	case store.EventHelp:
		e.Helpers, err = strconv.Atoi(more)
		return e, err == nil && e.ValidateNotice() == nil
	default:
		return store.Event{}, false
	}
}
