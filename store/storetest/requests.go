package storetest

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// This file has the calls of the model test, each for the store and for the model.

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
		func(ctx context.Context, s store.Store) (any, error) { return Settle(ctx, s, r.p, q) },
		func(m *model) any {
			codes, late := m.settle(q)
			return settleAnswer{codes, late}
		},
	}
}

// settleAnswer has the two answers to a settle that the port allows for each item.
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

func cancelCall(r *trial, q store.CancelRequest) request {
	return request{
		"cancel", q.Caller, q,
		func(ctx context.Context, s store.Store) (any, error) { return s.Cancel(ctx, r.p, q) },
		func(m *model) any { return codes(m.cancelAll(q)) },
	}
}

func rescheduleCall(r *trial, q store.RescheduleRequest) request {
	return request{
		"reschedule", q.Caller, q,
		func(ctx context.Context, s store.Store) (any, error) { return s.Reschedule(ctx, r.p, q) },
		func(m *model) any { return codes(m.rescheduleAll(q)) },
	}
}

func redriveCall(r *trial, q store.RedriveRequest) request {
	return request{
		"redrive", q.Caller, q,
		func(ctx context.Context, s store.Store) (any, error) { return s.Redrive(ctx, r.p, q) },
		func(m *model) any { return m.redriveAll(q) },
	}
}

func purgeCall(r *trial, q store.PurgeRequest) request {
	return request{
		"purge", q.Caller, q,
		func(ctx context.Context, s store.Store) (any, error) { return s.Purge(ctx, r.p, q) },
		func(m *model) any { return m.purge(q) },
	}
}

func configureCall(r *trial, c store.Change) request {
	return request{
		"configure", "", c,
		func(ctx context.Context, s store.Store) (any, error) {
			settings, err := s.Configure(ctx, r.p.Queue, c)
			return content(settings), err
		},
		func(m *model) any {
			if c.Paused != nil {
				m.paused = *c.Paused
			}
			if c.MaxMessages != nil {
				m.most = *c.MaxMessages
			}
			if c.DeadRetention != nil {
				m.retention = *c.DeadRetention
			}
			if c.MaxDead != nil {
				m.mostDead = *c.MaxDead
			}
			if c.History != nil {
				m.history = *c.History
			}
			if c.MaxHistory != nil {
				m.mostDone = *c.MaxHistory
			}
			return m.settings()
		},
	}
}
