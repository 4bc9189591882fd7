package httpstore

import (
	"cmp"
	"context"

	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
)

// The methods of the port. Each validates its request before it is sent, so that what is wrong
// with it is reported as by any other store, and without a call.

// request is a request to a partition.
type request interface{ Validate() error }

// onPartition calls a method about a partition.
func onPartition[A any, R request](ctx context.Context, s *Store, method string, p store.Partition, r R) (answer A, err error) {
	if err := cmp.Or(p.Validate(), r.Validate()); err != nil {
		return answer, err
	}
	return call[R, A](ctx, s, method, once(p.Queue, p.Index, r))
}

// onQueue calls a method about a queue, or about none.
func onQueue[A, R any](ctx context.Context, s *Store, method, queue string, r R, invalid error) (answer A, err error) {
	if invalid != nil {
		return answer, invalid
	}
	return call[R, A](ctx, s, method, once(queue, 0, r))
}

// Push implements store.Store.
func (s *Store) Push(ctx context.Context, p store.Partition, r store.PushRequest) ([]store.PushResult, error) {
	return onPartition[[]store.PushResult](ctx, s, wire.Push, p, r)
}

// Claim implements store.Store. A repetition is marked as one: its first try may still be on its
// way to the store.
func (s *Store) Claim(ctx context.Context, p store.Partition, r store.ClaimRequest) (store.ClaimResult, error) {
	if err := cmp.Or(p.Validate(), r.Validate()); err != nil {
		return store.ClaimResult{}, err
	}
	return call[store.ClaimRequest, store.ClaimResult](ctx, s, wire.Claim, func(try int) wire.Call[store.ClaimRequest] {
		r.Again = r.Again || try > 0
		return wire.Call[store.ClaimRequest]{Queue: p.Queue, Partition: p.Index, Request: r}
	})
}

// Settle implements store.Store.
func (s *Store) Settle(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	return onPartition[[]store.Code](ctx, s, wire.Settle, p, r)
}

// Extend implements store.Store.
func (s *Store) Extend(ctx context.Context, p store.Partition, r store.ExtendRequest) ([]store.Code, error) {
	return onPartition[[]store.Code](ctx, s, wire.Extend, p, r)
}

// Cancel implements store.Store.
func (s *Store) Cancel(ctx context.Context, p store.Partition, r store.CancelRequest) ([]store.Code, error) {
	return onPartition[[]store.Code](ctx, s, wire.Cancel, p, r)
}

// Reschedule implements store.Store.
func (s *Store) Reschedule(ctx context.Context, p store.Partition, r store.RescheduleRequest) ([]store.Code, error) {
	return onPartition[[]store.Code](ctx, s, wire.Reschedule, p, r)
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, p store.Partition, ref store.Ref) (store.Record, error) {
	return onPartition[store.Record](ctx, s, wire.Get, p, ref)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, p store.Partition, r store.ListRequest) (store.Page, error) {
	return onPartition[store.Page](ctx, s, wire.List, p, r)
}

// Stats implements store.Store.
func (s *Store) Stats(ctx context.Context, queue string) ([]store.Stats, error) {
	var invalid error
	if queue != "" {
		invalid = store.ValidateQueue(queue)
	}
	return onQueue[[]store.Stats](ctx, s, wire.Stats, queue, wire.None{}, invalid)
}

// Forecast implements store.Store.
func (s *Store) Forecast(ctx context.Context, p store.Partition, r store.ForecastRequest) (store.Forecast, error) {
	return onPartition[store.Forecast](ctx, s, wire.Forecast, p, r)
}

// Names implements store.Store.
func (s *Store) Names(ctx context.Context, p store.Partition, r store.NamesRequest) (store.Names, error) {
	return onPartition[store.Names](ctx, s, wire.Names, p, r)
}

// Queues implements store.Store.
func (s *Store) Queues(ctx context.Context) ([]string, error) {
	return onQueue[[]string](ctx, s, wire.Queues, "", wire.None{}, nil)
}

// Redrive implements store.Store.
func (s *Store) Redrive(ctx context.Context, p store.Partition, r store.RedriveRequest) ([]store.PushResult, error) {
	return onPartition[[]store.PushResult](ctx, s, wire.Redrive, p, r)
}

// Purge implements store.Store.
func (s *Store) Purge(ctx context.Context, p store.Partition, r store.PurgeRequest) (store.PurgeResult, error) {
	return onPartition[store.PurgeResult](ctx, s, wire.Purge, p, r)
}

// Restore implements store.Store.
func (s *Store) Restore(ctx context.Context, p store.Partition, r store.RestoreRequest) ([]store.Code, error) {
	return onPartition[[]store.Code](ctx, s, wire.Restore, p, r)
}

// Configure implements store.Store.
func (s *Store) Configure(ctx context.Context, queue string, c store.Change) (store.Settings, error) {
	return onQueue[store.Settings](ctx, s, wire.Configure, queue, c, cmp.Or(store.ValidateQueue(queue), c.Validate()))
}

// DeleteQueue implements store.Store.
func (s *Store) DeleteQueue(ctx context.Context, queue string, r store.DeleteRequest) error {
	_, err := onQueue[wire.None](ctx, s, wire.Delete, queue, r, store.ValidateQueue(queue))
	return err
}

// Beat implements store.Store.
func (s *Store) Beat(ctx context.Context, r store.BeatRequest) (store.BeatResult, error) {
	return onQueue[store.BeatResult](ctx, s, wire.Beat, "", r, r.Validate())
}

// Duties implements store.Store.
func (s *Store) Duties(ctx context.Context, r []store.DutyRequest) ([]store.Duties, error) {
	return onQueue[[]store.Duties](ctx, s, wire.Duties, "", r, store.ValidateDuties(r))
}

// Members implements store.Store.
func (s *Store) Members(ctx context.Context, queue string) ([]store.LiveMember, error) {
	return onQueue[[]store.LiveMember](ctx, s, wire.Members, queue, wire.None{}, store.ValidateQueue(queue))
}

// Notify implements store.Store.
func (s *Store) Notify(ctx context.Context, queue string, e store.Event) error {
	_, err := onQueue[wire.None](ctx, s, wire.Notify, queue, e, cmp.Or(store.ValidateQueue(queue), e.ValidateNotice()))
	return err
}

// Now implements store.Store.
func (s *Store) Now(ctx context.Context, p store.Partition) (int64, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	return call[wire.None, int64](ctx, s, wire.Now, once(p.Queue, p.Index, wire.None{}))
}

// Leave implements store.Store.
func (s *Store) Leave(ctx context.Context, p store.Partition, r store.LeaveRequest) error {
	_, err := onPartition[wire.None](ctx, s, wire.Leave, p, r)
	return err
}

// Check implements store.Store.
func (s *Store) Check(ctx context.Context, p store.Partition, r store.CheckRequest) (store.CheckResult, error) {
	return onPartition[store.CheckResult](ctx, s, wire.Check, p, r)
}

// Reach returns nil when the server and the store behind it answer, and accept the token.
func (s *Store) Reach(ctx context.Context) error {
	_, err := s.Now(ctx, store.Partition{Queue: "reach"})
	return err
}

// Describe returns what the server says about the store behind it.
func (s *Store) Describe(ctx context.Context) (store.Description, error) {
	return onQueue[store.Description](ctx, s, wire.Describe, "", wire.None{}, nil)
}
