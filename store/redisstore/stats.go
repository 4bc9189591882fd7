package redisstore

import (
	"context"
	"errors"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// counterFields returns the fields of side that hold the counters, and where their values go.
func counterFields(c *store.Counters) (fields []any, values []*int64) {
	for _, one := range c.All() {
		fields, values = append(fields, "n:"+one.Name), append(values, one.Value)
	}
	return fields, values
}

// Stats implements store.Store. It costs a call for each partition.
func (s *Store) Stats(ctx context.Context, queue string) ([]store.Stats, error) {
	if queue != "" {
		if err := store.ValidateQueue(queue); err != nil {
			return nil, err
		}
		one, err := s.queueStats(ctx, queue)
		if err != nil {
			return nil, err
		}
		return []store.Stats{one}, nil
	}
	queues, err := s.queues(ctx, "stats")
	if err != nil {
		return nil, err
	}
	all := make([]store.Stats, 0, len(queues))
	for _, queue := range queues {
		one, err := s.queueStats(ctx, queue)
		if errors.Is(err, store.ErrNotFound) {
			continue // listed, but not made yet
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// Queues implements store.Store.
func (s *Store) Queues(ctx context.Context) ([]string, error) { return s.queues(ctx, "queues") }

func (s *Store) queues(ctx context.Context, op string) ([]string, error) {
	if err := s.start(ctx, op, "", s.queuesKey()); err != nil {
		return nil, err
	}
	got, err := s.repeat(ctx, op, "", func(int) (any, error) {
		return s.rdb.SMembers(ctx, s.queuesKey()).Result()
	})
	if err != nil {
		return nil, err
	}
	names := got.([]string)
	slices.Sort(names)
	return names, nil
}

func (s *Store) queueStats(ctx context.Context, queue string) (store.Stats, error) {
	settings, _, err := s.latest(ctx, "stats", queue)
	if err != nil {
		return store.Stats{}, err
	}
	if settings.Version == 0 || settings.gone() {
		return store.Stats{}, fail("stats", queue, store.ErrNotFound)
	}
	consumers, err := s.members(ctx, "stats", queue)
	if err != nil {
		return store.Stats{}, err
	}
	st := store.Stats{Queue: queue, Settings: settings.Settings, Consumers: len(consumers)}
	for i := range settings.Partitions {
		if err := s.addStats(ctx, store.Partition{Queue: queue, Index: i}, &st); err != nil {
			return store.Stats{}, err
		}
	}
	return st, nil
}

// addStats adds {scheduled, ready, leased, dead, oldest, records, remembered, done, counters...}.
func (s *Store) addStats(ctx context.Context, p store.Partition, st *store.Stats) error {
	names, counters := counterFields(&st.Counters)
	got, err := s.run(ctx, call{
		op: "stats", queue: p.Queue, script: s.scripts["stats"], keys: s.partitionKeys(p, 7), args: names,
	})
	if err != nil {
		return err
	}
	fields, ok := got.([]any)
	switch {
	case ok && len(fields) == 0:
		return nil
	case !ok || len(fields) != 8+len(names):
		return fail("stats", p.Queue, unexpected(got))
	}
	in := numbers{script: "stats"}
	st.Scheduled += in.read("scheduled", fields[0])
	st.Ready += in.read("ready", fields[1])
	st.Leased += in.read("leased", fields[2])
	st.Dead += in.read("dead", fields[3])
	st.OldestReady = max(st.OldestReady, in.read("oldest", fields[4]))
	st.Remembered += in.read("remembered", fields[6])
	st.Done += in.read("done", fields[7])
	for i, counter := range counters {
		*counter += in.read("counters", fields[8+i])
	}
	if in.err != nil {
		return fail("stats", p.Queue, in.err)
	}
	return nil
}
