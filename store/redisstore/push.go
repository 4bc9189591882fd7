package redisstore

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// Push implements store.Store. With Config.Replicas it returns ErrNotReplicated when too
// few of them have the messages in time; the messages are stored all the same. At
// maxmemory it returns ErrQueueFull, and nothing is stored.
func (s *Store) Push(ctx context.Context, p store.Partition, r store.PushRequest) ([]store.PushResult, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	if err := s.register(ctx, p); err != nil {
		return nil, err
	}
	got, err := s.run(ctx, call{
		op: "push", queue: p.Queue, script: s.scripts["push"], keys: s.partitionKeys(p, 6),
		args: s.pushArgs(p, r), replicated: true,
	})
	if err != nil {
		return nil, err
	}
	results := make([]store.PushResult, len(r.Messages))
	done, err := readAnswer(got, results)
	if err != nil {
		return nil, fail("push", p.Queue, err)
	}
	if done == staleCall {
		fill(results, store.CodeStale)
	}
	if created := got.([]any); len(created) > 2 && number(created[2]) == 1 {
		return results, s.adopt(ctx, p)
	}
	return results, nil
}

// adopt gives a partition that a push has just made its queue's settings, and lists the
// queue: whoever removed the keys may have removed more than this partition.
func (s *Store) adopt(ctx context.Context, p store.Partition) error {
	s.known.Delete(p.Queue)
	settings, _, err := s.settings(ctx, "push", p.Queue, store.Change{Create: true})
	if err != nil || !settings.Paused && settings.MaxMessages == 0 {
		return err
	}
	return s.configurePartition(ctx, p, settings)
}

// pushArgs lays the batch out in columns, and leaves out what is zero, or the same, for
// all.
func (s *Store) pushArgs(p store.Partition, r store.PushRequest) []any {
	n := len(r.Messages)
	args := make([]any, 6+2*n, 6+7*n)
	args[0], args[1] = s.eventsChannel(p.Queue), wakeEvent(p)
	args[2], args[3], args[4], args[5] = r.Producer, sequence(r.Number), int64(store.MaxDelay), n
	size := 0
	for i := range r.Messages {
		size += len(store.ID{})*2 + recordSize(&r.Messages[i])
	}
	made, plain, same := newTexts(2*n, size), true, true
	var part []byte
	for i := range r.Messages {
		m := &r.Messages[i]
		part = m.ID.AppendTo(part[:0])
		args[6+i] = made.add(part)
		part = appendHead(part[:0], m)
		args[6+n+i] = made.add(part, m.Body)
		plain = plain && m.Key == "" && m.Due == 0 && m.TTL == 0
		same = same && m.Delay == r.Messages[0].Delay
	}
	if plain && same {
		return append(args, r.Messages[0].Delay)
	}
	for i := range r.Messages {
		args = append(args, r.Messages[i].Delay)
	}
	if plain {
		return args
	}
	args = args[:6+7*n]
	for i := range r.Messages {
		m := &r.Messages[i]
		args[6+3*n+i], args[6+4*n+i], args[6+5*n+i], args[6+6*n+i] = m.Key, m.Due, m.TTL, bit(m.Replace)
	}
	return args
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
