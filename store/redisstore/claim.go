package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"github.com/dueq-dev/dueq/store"
)

// sweepLimit is how many leases that ran out one claim puts back at most.
const sweepLimit = 100

// Claim implements store.Store.
//
// A claim that hands out nothing is not remembered on the server, so an idle consumer
// writes nothing there; this Store remembers it.
// A message whose record is missing or cannot be read becomes dead instead of being
// handed out.
func (s *Store) Claim(ctx context.Context, p store.Partition, r store.ClaimRequest) (store.ClaimResult, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return store.ClaimResult{}, err
	}
	c := call{op: "claim", queue: p.Queue, script: s.scripts["claim"], keys: s.partitionKeys(p, allKeys), flat: true}
	if err := s.start(ctx, c.op, c.queue, c.keys[0]); err != nil {
		return store.ClaimResult{}, err
	}
	first := firstTry
	if last, ok := s.idle.number(p, r.Consumer); ok && r.Number <= last {
		if r.Number < last {
			return store.ClaimResult{Stale: true}, nil
		}
		first = emptyBefore
	} else if r.Again {
		first = triedBefore
	}
	got, err := s.askPartition(ctx, c, p, r, first)
	if err != nil {
		return store.ClaimResult{}, err
	}
	result, err := s.claimed(ctx, p, got)
	if err == nil && !result.Stale {
		s.idle.note(p, r.Consumer, r.Number, len(result.Deliveries) == 0)
	}
	return result, err
}

// askPartition runs the script until the partition has the settings that this Store
// knows. Of a queue whose settings it does not know, it asks for any.
func (s *Store) askPartition(ctx context.Context, c call, p store.Partition, r store.ClaimRequest, try int) (any, error) {
	for round := range reconciliations {
		version, known, err := s.claimFrom(ctx, p, r)
		if err != nil {
			return nil, err
		}
		got, err := s.repeat(ctx, c.op, c.queue, func(attempt int) (any, error) {
			if attempt > 0 {
				try = max(try, triedBefore)
			}
			c.args = claimArgs(r, try, version)
			return s.try(ctx, c)
		})
		if err != nil {
			return nil, err
		}
		fields, ok := got.([]string)
		if !ok || len(fields) != 2 || fields[0] != claimRefused {
			if known != nil {
				s.confirm(known)
			}
			return got, nil
		}
		other, err := numberIn("claim", "version", fields[1])
		if err != nil {
			return nil, fail("claim", p.Queue, err)
		}
		if err := s.reconcile(ctx, "claim", p, other, true); err != nil {
			return nil, err
		}
		if known = s.recall(p.Queue); known != nil && known.deleting != 0 {
			if err := s.wait(ctx, round); err != nil {
				return nil, fail("claim", p.Queue, err)
			}
		}
	}
	return nil, fail("claim", p.Queue, errUnsettled)
}

// claimFrom returns the settings that a claim names, which must be those by which it was
// routed. They are read only for a caller that knows the queue when this Store does not: it
// may have been deleted.
func (s *Store) claimFrom(ctx context.Context, p store.Partition, r store.ClaimRequest) (version string, known *knownSettings, err error) {
	known = s.recall(p.Queue)
	if known == nil && r.Of != 0 {
		if _, err := s.read(ctx, "claim", p.Queue); err != nil {
			return "", nil, err
		}
		known = s.recall(p.Queue)
	}
	switch {
	case known == nil:
		return "", nil, nil
	case p.Index >= known.Partitions || r.Of != 0 && r.Of != known.Partitions:
		return "", nil, fail("claim", p.Queue, store.ErrRepartitioned)
	}
	return strconv.FormatInt(known.Version, 10), known, nil
}

// claimRefused is the status of a claim that names other settings than the partition has.
const claimRefused = "3"

// What a claim knows of its earlier tries.
const (
	firstTry = iota
	// The first try may still be in flight, and must not lease messages that no consumer gets
	// when it arrives at last: so this one is remembered even if it is empty.
	triedBefore
	emptyBefore // it has been answered, with nothing
)

func claimArgs(r store.ClaimRequest, try int, version string) []any {
	return []any{
		r.Consumer, sequence(r.Number), r.Max, r.Lease, bit(r.AckOnClaim), try,
		sweepLimit, store.MaxWait.Microseconds(), version,
	}
}

// claimed reads a claim's reply. Messages whose records cannot be read become dead.
func (s *Store) claimed(ctx context.Context, p store.Partition, reply any) (store.ClaimResult, error) {
	fields, _ := reply.([]string)
	read, err := readClaim(fields)
	if err != nil {
		return store.ClaimResult{}, fail("claim", p.Queue, err)
	}
	for _, u := range read.unreadable {
		if err := s.quarantine(ctx, p, u); err != nil {
			s.config.Logger.WarnContext(ctx, "dueq: a message with a corrupt record stays leased until its lease ends",
				slog.String("queue", p.Queue), slog.Int("partition", p.Index), slog.String("receipt", u.text), slog.Any("error", err))
		}
	}
	return read.ClaimResult, nil
}

// quarantine makes a leased message dead whose headers only Go finds to be unreadable.
func (s *Store) quarantine(ctx context.Context, p store.Partition, u unreadable) error {
	if u.receipt.ID.IsZero() || !errors.Is(u.cause, store.ErrCorrupt) {
		return u.cause
	}
	_, err := s.Settle(ctx, p, store.SettleRequest{
		Verdict: store.Reject,
		Items:   []store.Settlement{{Receipt: u.receipt, Failure: "record corrupt"}},
	})
	return err
}
