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

// Stats implements store.Store. It costs a call for each partition and two for each queue, in two
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
	questions := make([]question, len(queues))
	for i, queue := range queues {
		questions[i] = ofSettings("stats", queue, s.metaKey(queue))
	}
	settings, err := s.askSettings(ctx, questions)
	if err != nil {
		return nil, err
	}
	found := make([]*store.Stats, len(queues))
	var usual, lost []int // those of which meta has the settings, and the others
	for i := range queues {
		if settings[i].Partitions > 0 {
			usual = append(usual, i)
		} else {
			lost = append(lost, i)
		}
	}
	outdated, err := s.statsAt(ctx, queues, settings, usual, found)
	if err != nil {
		return nil, err
	}
	if lost = append(lost, outdated...); len(lost) > 0 {
		if err := s.surveyAll(ctx, queues, settings, lost); err != nil {
			return nil, err
		}
		if _, err := s.statsAt(ctx, queues, settings, lost, found); err != nil {
			return nil, err
		}
	}
	all := make([]store.Stats, 0, len(queues))
	for _, st := range found {
		if st != nil {
			all = append(all, *st)
		}
	}
	return all, nil
}

// surveyAll replaces the settings of some queues by the latest there are.
func (s *Store) surveyAll(ctx context.Context, queues []string, settings []queueSettings, some []int) error {
	var questions []question
	ends := make([]int, len(some)) // of the questions about each
	for i, at := range some {
		n := settings[at].Partitions
		if n == 0 {
			n = surveyed
		}
		for p := range n {
			questions = append(questions, s.ofCopy("stats", store.Partition{Queue: queues[at], Index: p}))
		}
		ends[i] = len(questions)
	}
	copies, err := s.askSettings(ctx, questions)
	if err != nil {
		return err
	}
	begin := 0
	for i, at := range some {
		settings[at] = latestOf(settings[at], copies[begin:ends[i]])
		begin = ends[i]
	}
	return nil
}

// statsAt reads the sizes and counters of those of some queues that are there, which have these
// settings. It returns the queues of which a partition has later ones.
func (s *Store) statsAt(ctx context.Context, queues []string, settings []queueSettings, some []int, found []*store.Stats) (outdated []int, err error) {
	var questions []question
	counters := counterFields()
	for _, at := range some {
		found[at] = nil
		if settings[at].Partitions == 0 {
			continue // not made yet, or what is left of it
		}
		questions = append(questions, question{call: s.membersCall("stats", queues[at])})
		for p := range settings[at].Partitions {
			questions = append(questions, s.ofStats("stats", store.Partition{Queue: queues[at], Index: p}, counters))
		}
	}
	answers, err := s.ask(ctx, questions)
	if err != nil {
		return nil, err
	}
	for _, at := range some {
		is := settings[at]
		if is.Partitions == 0 {
			continue
		}
		st := &store.Stats{Queue: queues[at], Settings: is.Settings}
		members, err := readMembers("stats", st.Queue, answers[0])
		if err != nil {
			return nil, err
		}
		latest := is.Version
		for _, answer := range answers[1 : 1+is.Partitions] {
			version, there, err := addStats(st, answer)
			if err != nil {
				return nil, err
			}
			if there || is.deleting == 0 { // a deletion removes partitions before the queue
				latest = max(latest, version)
			}
		}
		if latest > is.Version {
			outdated = append(outdated, at)
		}
		st.Consumers, answers = len(members), answers[1+is.Partitions:]
		found[at] = st
	}
	return outdated, nil
}

// ofStats asks for the sizes of a partition, and for counterFields.
func (s *Store) ofStats(op string, p store.Partition, counters []any) question {
	return question{call: call{op: op, queue: p.Queue, script: s.scripts["stats"], keys: s.partitionKeys(p, 7), args: counters}}
}

// addStats adds {version, scheduled, ready, leased, dead, oldest, records, remembered, done, counters...},
// or {version} of a partition that is not there.
func addStats(st *store.Stats, answer any) (version int64, there bool, err error) {
	counters := st.Counters.All()
	fields, ok := answer.([]any)
	if !ok || len(fields) != 1 && len(fields) != 9+len(counters) {
		return 0, false, fail("stats", st.Queue, unexpected(answer))
	}
	in := numbers{script: "stats"}
	version = in.read("version", fields[0])
	if there = len(fields) > 1; there {
		st.Scheduled += in.read("scheduled", fields[1])
		st.Ready += in.read("ready", fields[2])
		st.Leased += in.read("leased", fields[3])
		st.Dead += in.read("dead", fields[4])
		st.OldestReady = max(st.OldestReady, in.read("oldest", fields[5]))
		st.Remembered += in.read("remembered", fields[7])
		st.Done += in.read("done", fields[8])
		for i, counter := range counters {
			*counter.Value += in.read("counters", fields[9+i])
		}
	}
	if in.err != nil {
		err = fail("stats", st.Queue, in.err)
	}
	return version, there, err
}
