package redisstore

import (
	"strconv"

	"github.com/dueq-dev/dueq/store"
)

// nextArgs are those of a push whose messages have all that messages can have, then the
// receipts.
func (s *Store) nextArgs(p store.Partition, items []store.Settlement) []any {
	messages, counts := following(items)
	n, size := len(messages), maxReceiptSize*len(items)
	for i := range messages {
		size += len(store.ID{})*2 + recordSize(&messages[i])
	}
	args := make([]any, pushBefore, pushBefore+8*n+len(items))
	args[0], args[1], args[4] = s.eventsChannel(p.Queue), wakeEvent(p), int64(store.MaxDelay)
	args[nextItems], args[nextFrom], args[nextMessages], args[nextCounts] = len(items), pushBefore+8*n+1, n, counts
	args[pushNew] = bit(false) // an earlier run of the handler may have sent them
	made, largest, part := newTexts(2*n+len(items), size), 0, []byte(nil)
	for i := range messages {
		m := &messages[i]
		part = m.ID.AppendTo(part[:0])
		id := made.add(part)
		part = appendHead(part[:0], m)
		args = append(args, id, made.add(part, m.Body))
		largest = max(largest, len(part)+len(m.Body))
	}
	args[pushLargest] = largest
	for i := range messages {
		args = append(args, when(messages[i].Due, messages[i].Delay))
	}
	args = appendNames(appendKeys(args, messages), messages)
	for i := range items {
		part = appendReceipt(part[:0], items[i].Receipt)
		args = append(args, made.add(part))
	}
	return args
}

// The arguments of next.lua that push.lua has others for.
const (
	nextItems    = 2
	nextFrom     = 3
	nextMessages = 5
	nextCounts   = 8
)

// following returns the messages of all items, and how many each has as text.
func following(items []store.Settlement) (messages []store.Message, counts string) {
	var text []byte
	for i := range items {
		messages = append(messages, items[i].Messages...)
		text = strconv.AppendInt(append(text, ' '), int64(len(items[i].Messages)), 10)
	}
	return messages, string(text)
}
