package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/dueq-dev/dueq/store"
)

// register enters a queue, with default settings, into the list of queues, once in the
// life of this Store: a push works on a queue that nobody has configured.
func (s *Store) register(ctx context.Context, p store.Partition) error {
	if _, ok := s.known.Load(p.Queue); ok {
		return nil
	}
	_, _, err := s.settings(ctx, "push", p.Queue, store.Change{Create: true})
	return err
}

// settings runs the settings script, and tells whether anything changed. The name is
// listed before the queue is made, so that no queue is ever unlisted.
func (s *Store) settings(ctx context.Context, op, queue string, c store.Change) (queueSettings, bool, error) {
	if err := s.start(ctx, op, queue); err != nil {
		return queueSettings{}, false, err
	}
	if _, ok := s.known.Load(queue); c.Create && !ok {
		if _, err := s.repeat(ctx, op, queue, func(int) (any, error) {
			return s.rdb.SAdd(ctx, s.queuesKey(), queue).Result()
		}); err != nil {
			return queueSettings{}, false, err
		}
	}
	got, err := s.run(ctx, call{
		op: op, queue: queue, script: s.scripts["settings"], keys: []string{s.metaKey(queue)},
		args: []any{
			bit(c.Create), optional(c.Partitions), optional(c.MaxBody), optional(c.MaxMessages), optionalBit(c.Paused),
			store.DefaultPartitions, store.DefaultMaxBody,
		},
	})
	if err != nil {
		return queueSettings{}, false, err
	}
	settings, changed, err := readSettings(got, c)
	if err != nil {
		return queueSettings{}, false, &store.Error{Op: op, Queue: queue, Field: fieldOf(err), Err: err}
	}
	if c.Create {
		s.known.Store(queue, struct{}{})
	}
	return settings, changed, nil
}

// queueSettings are a queue's settings with their version, which grows with each change.
type queueSettings struct {
	store.Settings
	version int64
}

func optional[T int | int64](v *T) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(int64(*v), 10)
}

func optionalBit(v *bool) string {
	if v == nil {
		return ""
	}
	return bit(*v)
}

// readSettings reads {status, version, partitions, max body, max messages, paused}.
func readSettings(reply any, c store.Change) (queueSettings, bool, error) {
	fields, ok := reply.([]any)
	if !ok || len(fields) == 0 {
		return queueSettings{}, false, unexpected(reply)
	}
	switch status := number(fields[0]); {
	case status == -1:
		return queueSettings{}, false, store.ErrNotFound
	case status == -2 && len(fields) == 3 && c.Partitions != nil:
		return queueSettings{}, false, fmt.Errorf("%d is not what the queue was made with, %s: %w",
			*c.Partitions, text(fields[2]), store.ErrInvalid)
	case status < 0 || len(fields) != 6:
		return queueSettings{}, false, unexpected(reply)
	}
	return queueSettings{version: number(fields[1]), Settings: store.Settings{
		Partitions: int(number(fields[2])), MaxBody: int(number(fields[3])),
		MaxMessages: number(fields[4]), Paused: number(fields[5]) == 1,
	}}, number(fields[0]) > 0, nil
}

// fieldOf names the only field of a Change that the server itself refuses.
func fieldOf(err error) string {
	if errors.Is(err, store.ErrInvalid) {
		return "partitions"
	}
	return ""
}

// Configure implements store.Store. The settings are changed first, then taken over by
// each partition; after an error in between, repeating the call completes it. Of two
// changes at a time the later one wins in every partition.
func (s *Store) Configure(ctx context.Context, queue string, c store.Change) (store.Settings, error) {
	if err := store.ValidateQueue(queue); err != nil {
		return store.Settings{}, err
	}
	if err := c.Validate(); err != nil {
		return store.Settings{}, err
	}
	settings, changed, err := s.settings(ctx, "configure", queue, c)
	if err != nil {
		return store.Settings{}, err
	}
	if !changed && c.Paused == nil && c.MaxMessages == nil {
		return settings.Settings, nil
	}
	for i := range settings.Partitions {
		if err := s.configurePartition(ctx, store.Partition{Queue: queue, Index: i}, settings); err != nil {
			return store.Settings{}, err
		}
	}
	return settings.Settings, nil
}

func (s *Store) configurePartition(ctx context.Context, p store.Partition, settings queueSettings) error {
	_, err := s.run(ctx, call{
		op: "configure", queue: p.Queue, script: s.scripts["configure"], keys: s.partitionKeys(p, 6),
		args: []any{s.eventsChannel(p.Queue), wakeEvent(p), settings.version, bit(settings.Paused), settings.MaxMessages},
	})
	return err
}

// Heartbeat implements store.Store. The queue need not exist and is not made.
func (s *Store) Heartbeat(ctx context.Context, queue, consumer string, ttl int64) ([]string, error) {
	if err := store.ValidateHeartbeat(queue, consumer, ttl); err != nil {
		return nil, err
	}
	return s.members(ctx, "heartbeat", queue, consumer, ttl)
}

func (s *Store) members(ctx context.Context, op, queue, consumer string, ttl int64) ([]string, error) {
	got, err := s.run(ctx, call{
		op: op, queue: queue, script: s.scripts["heartbeat"],
		keys: []string{s.membersKey(queue)}, args: []any{consumer, ttl},
	})
	if err != nil {
		return nil, err
	}
	fields, ok := got.([]any)
	if !ok {
		return nil, fail(op, queue, unexpected(got))
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = text(f)
	}
	slices.Sort(names)
	return names, nil
}
