package redisstore

import (
	"strconv"

	"github.com/dueq-dev/dueq/store"
)

// The arguments of next.lua that push.lua has others for.
const (
	nextItems  = pushProducer
	nextCounts = pushNumber
	nextFrom   = pushVersion
)

// nextArgs are those of a push whose messages have all columns, then the receipts.
func (s *Store) nextArgs(p store.Partition, items []store.Settlement) []any {
	messages, counts := following(items)
	of := routedBy(messages)
	args := make([]any, pushBefore, pushBefore+(2+columnsRemembered)*len(messages)+len(items)+1)
	args[pushNew] = bit(false) // an earlier run of the handler may have sent them
	args = s.appendMessages(args, p, messages, columnsRemembered)
	args[nextItems], args[nextCounts], args[nextFrom] = len(items), counts, len(args)+1
	receipts, receipt := newTexts(len(items), maxReceiptSize*len(items)), []byte(nil)
	for i := range items {
		receipt = appendReceipt(receipt[:0], items[i].Receipt)
		args = append(args, receipts.add(receipt))
	}
	return append(args, of)
}

// routedBy returns the number of partitions from which the partition of messages with names was
// chosen: 0 if there are none, -1 if they differ.
func routedBy(messages []store.Message) int {
	of := 0
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Of == 0 || m.Key == "" && m.DedupID.IsZero():
		case of == 0:
			of = m.Of
		case of != m.Of:
			return -1
		}
	}
	return of
}

// following returns the messages of all items, and how many each has as text.
func following(items []store.Settlement) (messages []store.Message, counts string) {
	var text []byte
	for i := range items {
		messages = append(messages, items[i].Messages...)
		text = strconv.AppendInt(append(text, ' '), int64(len(items[i].Messages)), 10)
	}
	return messages, string(text)
}
