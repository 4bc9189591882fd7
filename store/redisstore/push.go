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
	ctx, cancel := withTimeout(ctx, s.config.PushTimeout)
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
		version, refused, err := otherSettings(got)
		if err != nil {
			return nil, fail("push", p.Queue, err)
		}
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
func otherSettings(reply any) (version int64, refused bool, err error) {
	fields, ok := reply.([]any)
	if !ok || len(fields) != 2 || fields[0] != int64(refusedCall) {
		return 0, false, nil
	}
	version, err = numberIn("push", "version", fields[1])
	return version, true, err
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

// The arguments of push.lua that come before the messages, which begin at pushBefore. Those up to
// the columns are next.lua's, too.
const (
	pushChannel = iota
	pushWake
	pushFarthest
	pushCount
	pushNew
	pushLargest
	pushColumns
	pushProducer
	pushNumber
	pushVersion
	pushBefore
)

// How many values each message has behind its id and record.
const (
	columnsShared     = 0 // none: one time for all
	columnsTimes      = 1
	columnsKeys       = columnsTimes + 3 // keys, TTLs, and whether to replace
	columnsRemembered = columnsKeys + 2  // for how long to be remembered, and dedup ids
)

// pushArgs leaves out what is zero, or the same, for all messages.
func (s *Store) pushArgs(p store.Partition, r store.PushRequest) []any {
	n, columns := len(r.Messages), columnsOf(r.Messages)
	args := make([]any, pushBefore, pushBefore+2*n+max(1, columns*n))
	args[pushProducer], args[pushNumber] = r.Producer, sequence(r.Number)
	args = s.appendMessages(args, p, r.Messages, columns)
	fresh := true
	for i := range r.Messages {
		fresh = fresh && r.Messages[i].New
	}
	args[pushNew] = bit(fresh)
	return args
}

// columnsOf returns which columns messages need.
func columnsOf(messages []store.Message) int {
	columns, first := columnsShared, &messages[0]
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Remember > 0 || !m.DedupID.IsZero():
			return columnsRemembered
		case m.Key != "" || m.TTL != 0 || m.OnlyHeld:
			columns = columnsKeys
		case m.Due != first.Due || m.Delay != first.Delay:
			columns = max(columns, columnsTimes)
		}
	}
	return columns
}

// appendMessages appends ids and records, then the columns, and sets the arguments before them
// that are about them.
func (s *Store) appendMessages(args []any, p store.Partition, messages []store.Message, columns int) []any {
	n, size, largest := len(messages), 0, 0
	args[pushChannel], args[pushWake], args[pushFarthest] = s.eventsChannel(p), wakeEvent(p), int64(store.MaxDelay)
	for i := range messages {
		size += len(store.ID{})*2 + recordSize(&messages[i])
	}
	made, part := newTexts(2*n, size), []byte(nil)
	for i := range messages {
		m := &messages[i]
		part = m.ID.AppendTo(part[:0])
		id := made.add(part)
		part = appendHead(part[:0], m)
		args = append(args, id, made.add(part, m.Body))
		largest = max(largest, len(part)+len(m.Body))
	}
	args[pushCount], args[pushLargest], args[pushColumns] = n, largest, columns
	if columns == columnsShared {
		return append(args, when(messages[0].Due, messages[0].Delay))
	}
	for i := range messages {
		args = append(args, when(messages[i].Due, messages[i].Delay))
	}
	if columns >= columnsKeys {
		args = appendKeys(args, messages)
	}
	if columns >= columnsRemembered {
		args = appendNames(args, messages)
	}
	return args
}

// appendKeys appends keys, then TTLs, then how messages take a key from others.
func appendKeys(args []any, messages []store.Message) []any {
	n, last := len(messages), len(args)
	args = slices.Grow(args, 3*n)[:last+3*n]
	for i := range messages {
		m := &messages[i]
		args[last+i], args[last+n+i], args[last+2*n+i] = m.Key, m.TTL, takes(m)
	}
	return args
}

// takes returns how a message takes a key from another.
func takes(m *store.Message) string {
	switch {
	case m.OnlyHeld && m.Replace:
		return "3"
	case m.OnlyHeld:
		return "2"
	}
	return bit(m.Replace)
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
