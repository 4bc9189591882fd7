package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// Watch implements store.Store. All watches of a Store share a connection to each server. It returns
// nil when ctx ends and ErrClosed when the store is closed; whatever else happens it subscribes again.
// When the server refuses that, as to a user without permission for the channel, it logs the
// reason once and tries again each minute: events only shorten the time until a consumer
// polls.
//
// On a Cluster each partition has a channel, in its slot, so its events come from its own master, and
// one that hangs keeps no others. The channels are those of the partitions that the Store knows of.
func (s *Store) Watch(ctx context.Context, queue string, notify func(store.Event)) error {
	if err := store.ValidateQueue(queue); err != nil {
		return err
	}
	if s.closed.Load() {
		return store.ErrClosed
	}
	w := &watch{notify: notify}
	s.hub.add(queue, s.watchedPartitions(ctx, queue), w) //nolint:contextcheck // the hub is shared, and outlives this watch
	defer s.hub.remove(queue, w)
	select {
	case <-ctx.Done():
		return nil
	case <-s.closing:
		return store.ErrClosed
	}
}

// watchedPartitions returns how many partitions a queue has as far as is known; later changes reach
// the hub when the Store gets to know them.
func (s *Store) watchedPartitions(ctx context.Context, queue string) int {
	if !s.sharded {
		return store.DefaultPartitions
	}
	if known := s.recall(queue); known != nil {
		return known.Partitions
	}
	settings, err := s.read(ctx, "watch", queue)
	if err != nil { // there is no such queue yet, or its server does not answer
		return store.DefaultPartitions
	}
	return settings.Partitions
}

// answer reports whether err is an answer of the server to a command, and not the end of the
// connection.
func answer(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// Notify implements store.Store. For a user without permission for the channel it does nothing:
// events are hints.
func (s *Store) Notify(ctx context.Context, queue string, e store.Event) error {
	if err := firstError(store.ValidateQueue(queue), e.ValidateNotice()); err != nil {
		return err
	}
	channel := s.eventsChannel(store.Partition{Queue: queue, Index: e.Partition})
	if err := s.start(ctx, "notify", queue, channel); err != nil {
		return err
	}
	_, err := s.repeat(ctx, "notify", queue, func(int) (any, error) {
		if s.sharded {
			return s.rdb.SPublish(ctx, channel, eventText(e)).Result()
		}
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
