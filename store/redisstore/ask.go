package redisstore

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// askedTogether is how many questions share a pipeline. A Cluster client makes one for each master
// out of it.
const askedTogether = 256

// question is a command that changes nothing, one of many whose answers are wanted together.
type question struct {
	call
	hash bool // the settings in the hash keys[0] are wanted; no script is run
	copy bool // of the settings: a key that is no hash has none
}

// ofSettings asks for the settings in a hash.
func ofSettings(op, queue, hash string) question {
	return question{call: call{op: op, queue: queue, keys: []string{hash}}, hash: true}
}

// ofCopy asks for the copy of the settings in a partition. One that another program has overwritten
// is for Check to report.
func (s *Store) ofCopy(op string, p store.Partition) question {
	q := ofSettings(op, p.Queue, s.partitionKeys(p, 1)[0])
	q.copy = true
	return q
}

func (q *question) command(ctx context.Context) redis.Cmder {
	if !q.hash {
		return q.call.command(ctx, "evalsha", q.script.sha)
	}
	args := []any{"hmget", q.keys[0]}
	for _, field := range settingsFields() {
		args = append(args, field)
	}
	return onceCmd{redis.NewSliceCmd(ctx, args...)}
}

// ask returns the answers to questions, in their order, nil for a copy that is no hash. Each pipeline is
// repeated as a call is, with the questions that have no answer yet.
func (s *Store) ask(ctx context.Context, questions []question) ([]any, error) {
	for i := range questions {
		if err := s.start(ctx, questions[i].op, questions[i].queue, questions[i].keys[0]); err != nil {
			return nil, err
		}
	}
	answers := make([]any, 0, len(questions))
	for some := range slices.Chunk(questions, askedTogether) {
		got, err := s.askSome(ctx, some)
		if err != nil {
			return nil, err
		}
		answers = append(answers, got...)
	}
	return answers, nil
}

func (s *Store) askSome(ctx context.Context, questions []question) ([]any, error) {
	answers, open := make([]any, len(questions)), make([]int, len(questions))
	for i := range open {
		open[i] = i
	}
	failing := 0 // the question that the last error is of
	_, err := s.repeat(ctx, questions[0].op, questions[0].queue, func(int) (any, error) {
		for len(open) > 0 {
			left, err := s.askOnce(ctx, questions, open, answers)
			if open = left; err != nil {
				failing = open[0]
				return nil, err
			}
		}
		return nil, nil //nolint:nilnil // the answers are in place
	})
	if of := (*store.Error)(nil); errors.As(err, &of) {
		of.Queue = questions[failing].queue
	}
	return answers, err
}

// askOnce asks the open questions in one pipeline. It returns those that stay open, and the error of
// the first of them. A script that a server lacks is no error: the first question that needs it
// brings it there.
func (s *Store) askOnce(ctx context.Context, questions []question, open []int, answers []any) (left []int, err error) {
	cmds := make([]redis.Cmder, len(open))
	for i, at := range open {
		cmds[i] = questions[at].command(ctx)
	}
	missing := 0 // questions that wait for a script
	for i, failed := range s.pipelines.call(ctx, cmds) {
		at := open[i]
		q := &questions[at]
		switch {
		case redis.HasErrorPrefix(failed, "NOSCRIPT") && missing == 0:
			missing++
			answers[at], failed = s.try(ctx, q.call)
		case redis.HasErrorPrefix(failed, "NOSCRIPT"):
			missing++
			left = append(left, at)
			continue
		case q.copy && redis.HasErrorPrefix(failed, "WRONGTYPE"):
			continue
		default:
			answers[at], failed = reply(cmds[i].(onceCmd), failed)
		}
		if failed == nil {
			continue
		}
		if err == nil {
			err, left = failed, slices.Insert(left, 0, at)
		} else {
			left = append(left, at)
		}
	}
	return left, err
}
