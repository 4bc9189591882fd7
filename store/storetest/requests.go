package storetest

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// The calls of the model test, each for both sides.

func pushCall(r *trial, q store.PushRequest) request {
	return request{
		"push", q.Producer, q,
		func(ctx context.Context, s store.Store) (any, error) { return s.Push(ctx, r.p, q) },
		func(m *model) any { return m.push(q) },
	}
}

func claimCall(r *trial, q store.ClaimRequest) request {
	return request{
		"claim", q.Consumer, q,
		func(ctx context.Context, s store.Store) (any, error) { return s.Claim(ctx, r.p, q) },
		func(m *model) any { return m.claim(q) },
	}
}

func settleCall(r *trial, q store.SettleRequest) request {
	return request{
		string(q.Verdict), "", q,
		func(ctx context.Context, s store.Store) (any, error) { return s.Settle(ctx, r.p, q) },
		func(m *model) any {
			codes, late := m.settle(q)
			return settleAnswer{codes, late}
		},
	}
}

// settleAnswer is what a settle may be answered, item by item one or the other.
type settleAnswer struct{ codes, late []store.Code }

// nearest returns the allowed answer that is most like the given one.
func (a settleAnswer) nearest(got []store.Code) []store.Code {
	for i := range min(len(got), len(a.late)) {
		if got[i] == a.late[i] {
			a.codes[i] = a.late[i]
		}
	}
	return a.codes
}

func cancelCall(r *trial, refs []store.Ref) request {
	return request{
		"cancel", "", refs,
		func(ctx context.Context, s store.Store) (any, error) { return s.Cancel(ctx, r.p, refs) },
		func(m *model) any { return each(refs, m.cancel) },
	}
}

func rescheduleCall(r *trial, moves []store.Move) request {
	return request{
		"reschedule", "", moves,
		func(ctx context.Context, s store.Store) (any, error) { return s.Reschedule(ctx, r.p, moves) },
		func(m *model) any { return each(moves, m.reschedule) },
	}
}

func redriveCall(r *trial, ids []store.ID) request {
	return request{
		"redrive", "", ids,
		func(ctx context.Context, s store.Store) (any, error) { return s.Redrive(ctx, r.p, ids) },
		func(m *model) any { return each(ids, m.redrive) },
	}
}

func purgeCall(r *trial, q store.PurgeRequest) request {
	return request{
		"purge", "", q,
		func(ctx context.Context, s store.Store) (any, error) { return s.Purge(ctx, r.p, q) },
		func(m *model) any { return m.purge(q) },
	}
}

func configureCall(r *trial, c store.Change) request {
	return request{
		"configure", "", c,
		func(ctx context.Context, s store.Store) (any, error) { return s.Configure(ctx, r.p.Queue, c) },
		func(m *model) any {
			if c.Paused != nil {
				m.paused = *c.Paused
			}
			if c.MaxMessages != nil {
				m.most = *c.MaxMessages
			}
			return store.Settings{Partitions: 1, MaxBody: store.DefaultMaxBody, MaxMessages: m.most, Paused: m.paused}
		},
	}
}

// each does one thing after the other.
func each[T, R any](all []T, do func(T) R) []R {
	results := make([]R, len(all))
	for i, v := range all {
		results[i] = do(v)
	}
	return results
}
