package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// checkSettings compares the copies of a queue's settings. A change that is under way
// looks like a difference, so only one that is seen twice is reported.
func (s *Store) checkSettings(ctx context.Context, queue string) ([]store.Problem, error) {
	problems, err := s.compareSettings(ctx, queue)
	if err != nil || len(problems) == 0 {
		return nil, err
	}
	again, err := s.compareSettings(ctx, queue)
	return slices.DeleteFunc(problems, func(p store.Problem) bool { return !slices.Contains(again, p) }), err
}

func (s *Store) compareSettings(ctx context.Context, queue string) ([]store.Problem, error) {
	meta, _, err := s.meta(ctx, "check", queue)
	if err != nil {
		return nil, err
	}
	copies, err := s.survey(ctx, "check", queue, max(surveyed, meta.Partitions))
	if err != nil {
		return nil, err
	}
	latest := meta
	for _, c := range copies {
		latest = later(latest, c)
	}
	var problems []store.Problem
	bad := func(format string, args ...any) {
		problems = append(problems, store.Problem{Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case latest.gone(): // what is left of partitions is compared below
	case meta.Version == 0 && latest.Version > 0:
		bad("the settings of the queue are missing, its partitions have them")
	case meta.Version < latest.Version:
		bad("the settings of the queue are older than those of its partitions")
	}
	for i, c := range copies {
		switch {
		case c.Version == 0 || c.gone() && c.Version <= latest.Version:
			continue // it is made when it is needed
		case latest.gone():
			bad("partition %d exists, but the queue was deleted: its messages are not delivered", i)
		case i >= latest.Partitions:
			bad("partition %d exists, but the queue has %d partitions: its messages are not delivered", i, latest.Partitions)
		case c.Partitions != latest.Partitions:
			bad("partition %d is one of %d, but the queue has %d partitions", i, c.Partitions, latest.Partitions)
		case c.Version < latest.Version:
			bad("partition %d has settings older than the queue's", i)
		}
	}
	return problems, nil
}
