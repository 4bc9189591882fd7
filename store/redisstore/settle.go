package redisstore

import (
	"context"
	"fmt"

	"github.com/dueq-dev/dueq/store"
)

// Settle implements store.Store. A batch of messages with more than about 1 MiB of
// records is settled in several steps, each of them atomic.
func (s *Store) Settle(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	if partsAny(r) {
		return s.settleParting(ctx, p, r)
	}
	c := call{op: string(r.Verdict), queue: p.Queue, script: s.scripts[string(r.Verdict)], joint: true}
	args := func(from int) []any { return s.settleArgs(p, r.Verdict, r.Items[from:]) }
	c.keys = s.partitionKeys(p, allKeys)
	absent := store.CodeGone
	if r.Verdict == store.Next { // whose messages are not stored
		absent = store.CodeLeaseLost
	}
	return codes(s.batch(ctx, c, len(r.Items), absent, args))
}

// Extend implements store.Store.
func (s *Store) Extend(ctx context.Context, p store.Partition, r store.ExtendRequest) ([]store.Code, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	op := "extend"
	if r.Start {
		op = "start"
	}
	const keys = 3
	c := call{op: op, queue: p.Queue, script: s.scripts[op], keys: s.partitionKeys(p, keys), joint: true}
	args := func(from int) []any { return extendArgs(r.Receipts[from:], r.Lease) }
	return codes(s.batch(ctx, c, len(r.Receipts), store.CodeGone, args))
}

// extendArgs are how many receipts there are and the lease, then the receipts.
func extendArgs(receipts []store.Receipt, lease int64) []any {
	args := append(make([]any, 0, 2+len(receipts)), len(receipts), lease)
	made, part := newTexts(len(receipts), maxReceiptSize*len(receipts)), []byte(nil)
	for _, receipt := range receipts {
		part = appendReceipt(part[:0], receipt)
		args = append(args, made.add(part))
	}
	return args
}

// The first arguments of the scripts that settle: each has those up to the last that it uses. Others
// has ack.lua, where receipts are all that follows, and next.lua, which begins as push.lua does.
const (
	settleCount = iota
	settleChannel
	settleWake
	settleFarthest
	settleHow // of part.lua
)

// settleArgs are, but for the verdicts that have functions of their own, receipts, then delays, then
// failures, where the verdict has them.
func (s *Store) settleArgs(p store.Partition, v store.Verdict, items []store.Settlement) []any {
	if v == store.Again {
		return s.againArgs(p, items)
	}
	if v == store.Next {
		return s.nextArgs(p, items)
	}
	if v == store.Ack {
		return appendReceipts(append(make([]any, 0, 1+len(items)), kindOf(items)), items)
	}
	args := append(make([]any, 0, settleFarthest+argsOf(v)*len(items)), len(items))
	if v != store.Reject {
		args = append(args, s.eventsChannel(p), wakeEvent(p))
	}
	args = appendReceipts(args, items)
	if hasDelay(v) {
		for i := range items {
			args = append(args, items[i].Delay)
		}
	}
	if hasFailure(v) {
		for i := range items {
			args = append(args, items[i].Failure)
		}
	}
	return args
}

func appendReceipts(args []any, items []store.Settlement) []any {
	receipts, receipt := newTexts(len(items), len(items)*receiptSize(items)), []byte(nil)
	for i := range items {
		receipt = appendReceipt(receipt[:0], items[i].Receipt)
		args = append(args, receipts.add(receipt))
	}
	return args
}

// argsOf returns how many arguments each item has.
func argsOf(v store.Verdict) int {
	n := 1
	if hasDelay(v) {
		n++
	}
	if hasFailure(v) {
		n++
	}
	return n
}

func hasDelay(v store.Verdict) bool { return v != store.Reject }

func hasFailure(v store.Verdict) bool { return v != store.Release }

func (s *Store) againArgs(p store.Partition, items []store.Settlement) []any {
	const before = settleFarthest + 1
	n, size := len(items), 0
	for i := range items {
		size += maxReceiptSize + len(items[i].Following().Body) + 1
	}
	made, part := newTexts(2*n, size), []byte(nil)
	args := make([]any, before+4*n)
	args[settleCount], args[settleChannel], args[settleWake] = n, s.eventsChannel(p), wakeEvent(p)
	args[settleFarthest] = int64(store.MaxDelay)
	for i := range items {
		next := items[i].Following()
		part = appendReceipt(part[:0], items[i].Receipt)
		args[before+i] = made.add(part)
		args[before+n+i] = when(next.Due, items[i].Delay)
		if next.Repeat != "" {
			args[before+n+i] = fmt.Sprint(args[before+n+i], " ", next.Repeat)
		}
		args[before+2*n+i] = next.TTL
		args[before+3*n+i] = ""
		if next.NewBody {
			args[before+3*n+i] = made.add([]byte("="), next.Body)
		}
	}
	return args
}

// maxReceiptSize is at least the length of a receipt.
const maxReceiptSize = 48

// receiptSize is about the length of a receipt of the items.
func receiptSize(items []store.Settlement) int {
	if isID(items[0].Receipt) {
		return idLen
	}
	return idLen + len(":12k")
}

// kindOf is how much there is for ack.lua to look at.
func kindOf(items []store.Settlement) string {
	kind := "ids"
	for i := range items {
		if items[i].Receipt.Keyed {
			return "keyed"
		}
		if !isID(items[i].Receipt) {
			kind = "plain"
		}
	}
	return kind
}
