package dueq

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/dueq-dev/dueq/store"
)

// Receipt returns a text that stands for the delivery, "" if it is not held: [Queue.Delivery] of
// any client of the store, in any process, makes a delivery of it that can be settled and
// extended. So a program that receives messages can leave the work on them to others. The text
// has up to 500 characters of A-Z a-z 0-9 - _. It is no secret, and it proves nothing about who
// presents it.
func (d *Delivery) Receipt() string {
	if d.held == nil || d.early || d.shown {
		return ""
	}
	content := encodeReceipt(d.held.Delivery)
	return base64.RawURLEncoding.EncodeToString(append(receiptSum(d.Queue, content), content...))
}

// Delivery returns the delivery of a [Delivery.Receipt], without its content: Key, Headers, Body
// and ExpiresAt are not set. It makes no call: settling and extending show whether the delivery
// is still the current one. Errors: [ErrInvalid] if the text is not a receipt of this queue.
func (q *Queue) Delivery(receipt string) (*Delivery, error) {
	if q.invalid != nil {
		return nil, fail("receipt", q.name, "", q.invalid)
	}
	d, ok := q.decodeReceipt(receipt)
	if !ok {
		return nil, fail("receipt", q.name, "", unfit("receipt", receipt, " is not a receipt of this queue"))
	}
	held := q.client.receiver.Held(store.Partition{Queue: q.name, Index: d.Receipt.ID.Partition()}, d)
	return newDelivery(q, held), nil
}

// The first byte of a receipt's content is its version. The second has flags.
const (
	receiptVersion = 1
	receiptKeyed   = 1

	receiptHead = 2
	receiptSums = 8
)

// encodeReceipt returns what settling a delivery needs to know of it: version, flags, id,
// numbers, and the schedule of a recurring message.
func encodeReceipt(d *store.Delivery) []byte {
	flags := byte(0)
	if d.Receipt.Keyed {
		flags = receiptKeyed
	}
	b := append([]byte{receiptVersion, flags}, d.Receipt.ID[:]...)
	for _, n := range []int64{int64(d.Receipt.Attempt), int64(d.Earlier), int64(d.Failures), int64(d.Snoozes), int64(d.MaxAttempts), d.Due} {
		b = binary.AppendVarint(b, n)
	}
	return append(b, d.Repeat...)
}

// receiptSum returns a checksum over a receipt and the queue that it is for, so that a receipt of
// another queue and one that was damaged on its way are recognized.
func receiptSum(queue string, content []byte) []byte {
	h := sha256.New()
	h.Write([]byte(queue + "\x00"))
	h.Write(content)
	return h.Sum(nil)[:receiptSums]
}

// decodeReceipt is the reverse of encodeReceipt.
func (q *Queue) decodeReceipt(text string) (*store.Delivery, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	lines := strings.ContainsAny(text, "\r\n") // which the decoder ignores
	if err != nil || lines || len(b) < receiptSums+receiptHead+len(store.ID{}) {
		return nil, false
	}
	sum, b := b[:receiptSums], b[receiptSums:]
	if string(sum) != string(receiptSum(q.name, b)) || b[0] != receiptVersion || b[1]&^receiptKeyed != 0 {
		return nil, false
	}
	d := &store.Delivery{Receipt: store.Receipt{ID: store.ID(b[receiptHead:]), Keyed: b[1] == receiptKeyed}}
	b = b[receiptHead+len(store.ID{}):]
	var numbers [6]int64
	for i := range numbers {
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, false
		}
		numbers[i], b = n, b[size:]
	}
	d.Receipt.Attempt, d.Earlier, d.Failures = int(numbers[0]), int(numbers[1]), int(numbers[2])
	d.Snoozes, d.MaxAttempts, d.Due, d.Repeat = int(numbers[3]), int(numbers[4]), numbers[5], string(b)
	if err := (store.ExtendRequest{Receipts: []store.Receipt{d.Receipt}, Lease: store.MinLease}).Validate(); err != nil {
		return nil, false
	}
	if d.Receipt.ID.Partition() >= store.MaxPartitions || d.Repeat != "" && store.ValidateRepeat(d.Repeat) != nil {
		return nil, false
	}
	return d, true
}
