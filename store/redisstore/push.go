package redisstore

import (
	"context"
	"strconv"

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
	if err := s.start(ctx, "push", p.Queue); err != nil {
		return nil, err
	}
	c := call{op: "push", queue: p.Queue, script: s.scripts["push"], keys: s.partitionKeys(p, 6), args: s.pushArgs(p, r), joint: true}
	got, err := s.repeat(ctx, c.op, c.queue, func(attempt int) (any, error) {
		if attempt > 0 {
			c.args[pushNew] = bit(false) // the try before may have stored them
		}
		if s.config.Replicas > 0 {
			return s.tryReplicated(ctx, c)
		}
		return s.try(ctx, c)
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

// The arguments of push.lua that come before the messages.
const (
	pushNew     = 6
	pushLargest = 7
	pushBefore  = 8
)

// pushArgs leaves out what is zero, or the same, for all messages.
func (s *Store) pushArgs(p store.Partition, r store.PushRequest) []any {
	n := len(r.Messages)
	args := make([]any, pushBefore, pushBefore+6*n)
	args[0], args[1] = s.eventsChannel(p.Queue), wakeEvent(p)
	args[2], args[3], args[4], args[5] = r.Producer, sequence(r.Number), int64(store.MaxDelay), n
	size := 0
	for i := range r.Messages {
		size += len(store.ID{})*2 + recordSize(&r.Messages[i])
	}
	made, largest, fresh, plain, same := newTexts(2*n, size), 0, true, true, true
	first := &r.Messages[0]
	var part []byte
	for i := range r.Messages {
		m := &r.Messages[i]
		part = m.ID.AppendTo(part[:0])
		id := made.add(part)
		part = appendHead(part[:0], m)
		args = append(args, id, made.add(part, m.Body))
		largest = max(largest, len(part)+len(m.Body))
		fresh = fresh && m.New
		plain = plain && m.Key == "" && m.TTL == 0
		same = same && m.Due == first.Due && m.Delay == first.Delay
	}
	args[pushNew], args[pushLargest] = bit(fresh), largest
	if plain && same {
		return append(args, when(first))
	}
	for i := range r.Messages {
		args = append(args, when(&r.Messages[i]))
	}
	if plain {
		return args
	}
	last := len(args)
	args = args[:last+3*n]
	for i := range r.Messages {
		m := &r.Messages[i]
		args[last+i], args[last+n+i], args[last+2*n+i] = m.Key, m.TTL, bit(m.Replace)
	}
	return args
}

// when returns the span until a message is due, or "@" and the instant.
func when(m *store.Message) any {
	if m.Due == 0 {
		return m.Delay
	}
	return "@" + strconv.FormatInt(m.Due, 10)
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
