package redisstore

import (
	"context"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// counterFields returns the fields of side that hold the counters.
func counterFields() (fields []any) {
	var c store.Counters
	for _, one := range c.All() {
		fields = append(fields, "n:"+one.Name)
	}
	return fields
}

// Stats implements store.Store. It costs a call for each partition and four for each queue, in three
// pipelines for 256 of them each.
func (s *Store) Stats(ctx context.Context, queue string) ([]store.Stats, error) {
	if queue == "" {
		queues, err := s.queues(ctx, "stats")
		if err != nil {
			return nil, err
		}
		return s.statsOf(ctx, queues)
	}
	if err := store.ValidateQueue(queue); err != nil {
		return nil, err
	}
	all, err := s.statsOf(ctx, []string{queue})
	if err == nil && len(all) == 0 {
		err = fail("stats", queue, store.ErrNotFound)
	}
	return all, err
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

// statsOf returns the sizes and counters of those of the queues that are there. Those that are
// listed, but not made yet, are not.
func (s *Store) statsOf(ctx context.Context, queues []string) ([]store.Stats, error) {
	latest, err := s.latestOfAll(ctx, "stats", queues)
	if err != nil {
		return nil, err
	}
	all := make([]store.Stats, 0, len(queues))
	var questions []question
	counters := counterFields()
	for i, queue := range queues {
		if latest[i].Version == 0 || latest[i].gone() {
			continue
		}
		all = append(all, store.Stats{Queue: queue, Settings: latest[i].Settings})
		questions = append(questions, question{call: s.membersCall("stats", queue)})
		for p := range latest[i].Partitions {
			questions = append(questions, s.ofStats("stats", store.Partition{Queue: queue, Index: p}, counters))
		}
	}
	answers, err := s.ask(ctx, questions)
	if err != nil {
		return nil, err
	}
	for i := range all {
		st := &all[i]
		members, err := readMembers("stats", st.Queue, answers[0])
		for p := 1; err == nil && p <= st.Settings.Partitions; p++ {
			err = addStats(st, answers[p])
		}
		if err != nil {
			return nil, err
		}
		st.Consumers, answers = len(members), answers[1+st.Settings.Partitions:]
	}
	return all, nil
}

// latestOfAll is latest for many queues: two pipelines for 256 hashes each.
func (s *Store) latestOfAll(ctx context.Context, op string, queues []string) ([]queueSettings, error) {
	questions := make([]question, len(queues))
	for i, queue := range queues {
		questions[i] = ofSettings(op, queue, s.metaKey(queue))
	}
	all, err := s.askSettings(ctx, questions)
	if err != nil {
		return nil, err
	}
	asked := make([]int, len(queues)) // how many partitions
	var of []question
	for i, queue := range queues {
		if asked[i] = all[i].Partitions; asked[i] == 0 {
			asked[i] = surveyed
		}
		for p := range asked[i] {
			of = append(of, s.ofCopy(op, store.Partition{Queue: queue, Index: p}))
		}
	}
	copies, err := s.askSettings(ctx, of)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i], copies = latestOf(all[i], copies[:asked[i]]), copies[asked[i]:]
	}
	return all, nil
}

// ofStats asks for the sizes of a partition, and for counterFields.
func (s *Store) ofStats(op string, p store.Partition, counters []any) question {
	return question{call: call{op: op, queue: p.Queue, script: s.scripts["stats"], keys: s.partitionKeys(p, 7), args: counters}}
}

// addStats adds {scheduled, ready, leased, dead, oldest, records, remembered, done, counters...}.
func addStats(st *store.Stats, answer any) error {
	counters := st.Counters.All()
	fields, ok := answer.([]any)
	switch {
	case ok && len(fields) == 0:
		return nil
	case !ok || len(fields) != 8+len(counters):
		return fail("stats", st.Queue, unexpected(answer))
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
		*counter.Value += in.read("counters", fields[8+i])
	}
	if in.err != nil {
		return fail("stats", st.Queue, in.err)
	}
	return nil
}
