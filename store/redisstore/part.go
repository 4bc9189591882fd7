package redisstore

import (
	"context"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// partsAny reports whether a failure of one of the items can be followed by another
// occurrence.
func partsAny(r store.SettleRequest) bool {
	return (r.Verdict == store.Nack || r.Verdict == store.Reject) &&
		slices.ContainsFunc(r.Items, func(item store.Settlement) bool { return item.Next != nil })
}

// settleParting is Settle where some items have a next occurrence: these have a script of
// their own.
func (s *Store) settleParting(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	var plain, parting []store.Settlement
	for _, item := range r.Items {
		if item.Next == nil {
			plain = append(plain, item)
		} else {
			parting = append(parting, item)
		}
	}
	c := call{op: string(r.Verdict), queue: p.Queue, script: s.scripts["part"], keys: s.partitionKeys(p, allKeys), joint: true}
	parted, err := codes(s.batch(ctx, c, len(parting), store.CodeGone, func(from int) []any { return s.partArgs(p, r.Verdict, parting[from:]) }))
	if err != nil {
		return nil, err
	}
	var others []store.Code
	if len(plain) > 0 {
		if others, err = s.Settle(ctx, p, store.SettleRequest{Verdict: r.Verdict, Items: plain}); err != nil {
			return nil, err
		}
	}
	all := make([]store.Code, 0, len(r.Items))
	for _, item := range r.Items {
		from := &others
		if item.Next != nil {
			from = &parted
		}
		all, *from = append(all, (*from)[0]), (*from)[1:]
	}
	return all, nil
}

func (s *Store) partArgs(p store.Partition, v store.Verdict, items []store.Settlement) []any {
	const before = settleHow + 1
	how := "n"
	if v == store.Reject {
		how = "j"
	}
	n := len(items)
	args := make([]any, before+6*n)
	args[settleCount], args[settleChannel], args[settleWake] = n, s.eventsChannel(p), wakeEvent(p)
	args[settleFarthest], args[settleHow] = int64(store.MaxDelay), how
	for i, item := range items {
		args[before+i] = string(appendReceipt(nil, item.Receipt))
		args[before+n+i] = item.Delay
		args[before+2*n+i] = item.Failure
		args[before+3*n+i] = item.Next.Due
		args[before+4*n+i] = item.Letter.String()
		args[before+5*n+i] = item.Next.Repeat
	}
	return args
}
