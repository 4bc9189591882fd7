package redisstore

import (
	"context"
	"errors"
	"slices"
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
	ctx, cancel := patient(ctx, s.config.PushTimeout)
	defer cancel()
	c := call{op: "push", queue: p.Queue, script: s.scripts["push"], keys: s.partitionKeys(p, 6), args: s.pushArgs(p, r), joint: true}
	if err := s.start(ctx, c.op, c.queue, c.keys[0]); err != nil {
		return nil, err
	}
	for range reconciliations {
		settings, err := s.register(ctx, p.Queue)
		if err != nil {
			return nil, err
		}
		if p.Index >= settings.Partitions || routedOtherwise(r.Messages, settings.Partitions) {
			return nil, fail("push", p.Queue, store.ErrRepartitioned)
		}
		c.args[pushVersion] = settings.Version
		got, err := s.repeatPush(ctx, c)
		if err != nil {
			return nil, err
		}
		version, refused := otherSettings(got)
		if !refused {
			s.confirm(settings)
			return pushed(p, got, len(r.Messages))
		}
		if err := s.reconcile(ctx, "push", p, version, false); err != nil {
			return nil, err
		}
	}
	return nil, fail("push", p.Queue, errUnsettled)
}

// register returns a queue's settings, which it reads only when this Store does not know
// them. It makes the queue if it is missing, for a push works on a queue that nobody has
// configured; while it is being deleted, it waits.
func (s *Store) register(ctx context.Context, queue string) (*knownSettings, error) {
	for attempt := 0; ; attempt++ {
		known := s.recall(queue)
		if known != nil && known.deleting == 0 {
			return known, nil
		}
		err := s.learn(ctx, queue, known != nil)
		if err == nil {
			if known = s.recall(queue); known == nil || known.deleting == 0 {
				continue
			}
			err = s.wait(ctx, attempt)
		}
		switch {
		case err != nil && known != nil && ctx.Err() != nil:
			return nil, fail("push", queue, s.gaveUp(ctx, errDeleting))
		case err != nil:
			return nil, err
		}
	}
}

// learn gets to know a queue's settings and makes it if it is missing. If it is known to be
// in the course of being deleted, that is ended if it was given up.
func (s *Store) learn(ctx context.Context, queue string, deleting bool) error {
	if !deleting {
		_, err := s.read(ctx, "push", queue)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	_, _, err := s.change(ctx, "push", queue, store.Change{Create: true}, false)
	return err
}

// routedOtherwise reports whether a message's partition was chosen from another number
// of partitions.
func routedOtherwise(messages []store.Message, partitions int) bool {
	for i := range messages {
		if of := messages[i].Of; of != 0 && of != partitions {
			return true
		}
	}
	return false
}

// repeatPush runs the script until it answers. From the second try on the messages may
// have been stored before, also in a later call with the same args.
func (s *Store) repeatPush(ctx context.Context, c call) (any, error) {
	return s.repeat(ctx, c.op, c.queue, func(attempt int) (any, error) {
		if attempt > 0 {
			c.args[pushNew] = bit(false)
		}
		if s.config.Replicas > 0 {
			return s.tryReplicated(ctx, c)
		}
		return s.try(ctx, c)
	})
}

// otherSettings reads {-3, version}: the partition refused because it has settings of
// that version, 0 when it does not exist.
func otherSettings(reply any) (version int64, refused bool) {
	fields, ok := reply.([]any)
	if !ok || len(fields) != 2 || fields[0] != int64(refusedCall) {
		return 0, false
	}
	return number(fields[1]), true
}

func pushed(p store.Partition, reply any, n int) ([]store.PushResult, error) {
	results := make([]store.PushResult, n)
	done, err := readAnswer(reply, results)
	if err != nil {
		return nil, fail("push", p.Queue, err)
	}
	if done == staleCall {
		fill(results, store.CodeStale)
	}
	return results, nil
}

// The arguments of push.lua that come before the messages.
const (
	pushNew     = 6
	pushLargest = 7
	pushVersion = 8
	pushBefore  = 9
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
	made, largest, fresh, plain, same, remembered := newTexts(2*n, size), 0, true, true, true, false
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
		remembered = remembered || m.Remember > 0 || !m.DedupID.IsZero()
		same = same && m.Due == first.Due && m.Delay == first.Delay
	}
	args[pushNew], args[pushLargest] = bit(fresh), largest
	plain = plain && !remembered
	if plain && same {
		return append(args, when(first.Due, first.Delay))
	}
	for i := range r.Messages {
		args = append(args, when(r.Messages[i].Due, r.Messages[i].Delay))
	}
	if plain {
		return args
	}
	args = appendKeys(args, r.Messages)
	if remembered {
		args = appendNames(args, r.Messages)
	}
	return args
}

// appendKeys appends keys, then TTLs, then whether messages take a key from others.
func appendKeys(args []any, messages []store.Message) []any {
	n, last := len(messages), len(args)
	args = slices.Grow(args, 3*n)[:last+3*n]
	for i := range messages {
		m := &messages[i]
		args[last+i], args[last+n+i], args[last+2*n+i] = m.Key, m.TTL, bit(m.Replace)
	}
	return args
}

// appendNames appends for how long messages are to be remembered, then their dedup ids.
func appendNames(args []any, messages []store.Message) []any {
	for i := range messages {
		args = append(args, messages[i].Remember)
	}
	for i := range messages {
		args = append(args, string(messages[i].DedupID.AppendTo(nil)))
	}
	return args
}

// when returns the span until something is due, or "@" and the instant.
func when(due, delay int64) any {
	if due == 0 {
		return delay
	}
	return "@" + strconv.FormatInt(due, 10)
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
