package peer

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// Load is a set of messages, the same for every queue and in every language: numbers
// From to From+Count-1, the due times spread evenly over Spread from Due on.
type Load struct {
	From      int   `json:"from"`
	Count     int   `json:"count"`
	Producers int   `json:"producers"` // how many senders at a time
	Batch     int   `json:"batch"`     // messages a call; 1: Send
	DueMs     int64 `json:"due_ms"`
	SpreadMs  int64 `json:"spread_ms"`
	BodySize  int   `json:"body_size"`
}

// shuffle is a prime, so that i*shuffle mod count visits every number once: messages are not sent in
// the order of their due times, but in the same order for all queues.
const shuffle = 7919

// Message returns the i-th message to send.
func (l Load) Message(i int) Message {
	due := l.DueMs
	if l.SpreadMs > 0 {
		due += int64(i*shuffle%l.Count) * l.SpreadMs / int64(l.Count)
	}
	seq := l.From + i
	return Message{Seq: seq, Due: time.UnixMilli(due), Body: body(seq, due, l.BodySize)}
}

// body starts with the number and the due time, which the handler reads. The rest is text that does not
// repeat.
func body(seq int, dueMs int64, size int) []byte {
	b := make([]byte, 0, size+32)
	b = strconv.AppendInt(b, int64(seq), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, dueMs, 10)
	b = append(b, ' ')
	for x := uint32(seq)*2654435761 + 1; len(b) < size; { // wraps on purpose
		x = x*1664525 + 1013904223
		b = append(b, filler[x>>26])
	}
	return b
}

const filler = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// ParseBody returns the number and the due time of a body.
func ParseBody(b []byte) (seq int, due time.Time, err error) {
	first, rest, ok1 := bytes.Cut(b, []byte{' '})
	second, _, ok2 := bytes.Cut(rest, []byte{' '})
	seq, err1 := strconv.Atoi(string(first))
	ms, err2 := strconv.ParseInt(string(second), 10, 64)
	if !ok1 || !ok2 || err1 != nil || err2 != nil {
		return 0, time.Time{}, fmt.Errorf("body %.40q was not sent by this harness", b)
	}
	return seq, time.UnixMilli(ms), nil
}
