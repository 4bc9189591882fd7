package dueq

import (
	"context"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// CallEvent is the end of a call of the store.
type CallEvent struct {
	// Call is the name of a method of [store.Store] in lower case, such as "push" or "claim".
	Call  string
	Queue string        // "" for a call that is not about one queue
	Took  time.Duration // with the tries that the store's client has repeated
	Err   error         // of the call as a whole; nil: the store has answered
}

// observed is a store whose calls end with OnCall. Known, Watch and Close are not calls: the first
// does no I/O, the others last as long as their callers want.
type observed struct {
	store.Store
	onCall func(CallEvent)
}

// observe returns s, with OnCall around its calls if it is set.
func (h *Hooks) observe(s store.Store) store.Store {
	if h.OnCall == nil {
		return s
	}
	return &observed{s, h.OnCall}
}

// bare returns the store itself, which can have more methods than [store.Store].
func bare(s store.Store) store.Store {
	if o, ok := s.(*observed); ok {
		return o.Store
	}
	return s
}

// called calls OnCall for a call that has ended.
func called[T any](o *observed, call, queue string, do func() (T, error)) (T, error) {
	began := time.Now()
	result, err := do()
	o.onCall(CallEvent{Call: call, Queue: queue, Took: time.Since(began), Err: err})
	return result, err
}

// calledFor is called for a call without a result.
func calledFor(o *observed, call, queue string, do func() error) error {
	_, err := called(o, call, queue, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (o *observed) Push(ctx context.Context, p store.Partition, r store.PushRequest) ([]store.PushResult, error) {
	return called(o, "push", p.Queue, func() ([]store.PushResult, error) { return o.Store.Push(ctx, p, r) })
}

func (o *observed) Claim(ctx context.Context, p store.Partition, r store.ClaimRequest) (store.ClaimResult, error) {
	return called(o, "claim", p.Queue, func() (store.ClaimResult, error) { return o.Store.Claim(ctx, p, r) })
}

func (o *observed) Settle(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	return called(o, "settle", p.Queue, func() ([]store.Code, error) { return o.Store.Settle(ctx, p, r) })
}

func (o *observed) Extend(ctx context.Context, p store.Partition, r store.ExtendRequest) ([]store.Code, error) {
	return called(o, "extend", p.Queue, func() ([]store.Code, error) { return o.Store.Extend(ctx, p, r) })
}

func (o *observed) Cancel(ctx context.Context, p store.Partition, r store.CancelRequest) ([]store.Code, error) {
	return called(o, "cancel", p.Queue, func() ([]store.Code, error) { return o.Store.Cancel(ctx, p, r) })
}

func (o *observed) Reschedule(ctx context.Context, p store.Partition, r store.RescheduleRequest) ([]store.Code, error) {
	return called(o, "reschedule", p.Queue, func() ([]store.Code, error) { return o.Store.Reschedule(ctx, p, r) })
}

func (o *observed) Get(ctx context.Context, p store.Partition, ref store.Ref) (store.Record, error) {
	return called(o, "get", p.Queue, func() (store.Record, error) { return o.Store.Get(ctx, p, ref) })
}

func (o *observed) List(ctx context.Context, p store.Partition, r store.ListRequest) (store.Page, error) {
	return called(o, "list", p.Queue, func() (store.Page, error) { return o.Store.List(ctx, p, r) })
}

func (o *observed) Stats(ctx context.Context, queue string) ([]store.Stats, error) {
	return called(o, "stats", queue, func() ([]store.Stats, error) { return o.Store.Stats(ctx, queue) })
}

func (o *observed) Forecast(ctx context.Context, p store.Partition, r store.ForecastRequest) (store.Forecast, error) {
	return called(o, "forecast", p.Queue, func() (store.Forecast, error) { return o.Store.Forecast(ctx, p, r) })
}

func (o *observed) Names(ctx context.Context, p store.Partition, r store.NamesRequest) (store.Names, error) {
	return called(o, "names", p.Queue, func() (store.Names, error) { return o.Store.Names(ctx, p, r) })
}

func (o *observed) Queues(ctx context.Context) ([]string, error) {
	return called(o, "queues", "", func() ([]string, error) { return o.Store.Queues(ctx) })
}

func (o *observed) Redrive(ctx context.Context, p store.Partition, r store.RedriveRequest) ([]store.PushResult, error) {
	return called(o, "redrive", p.Queue, func() ([]store.PushResult, error) { return o.Store.Redrive(ctx, p, r) })
}

func (o *observed) Purge(ctx context.Context, p store.Partition, r store.PurgeRequest) (store.PurgeResult, error) {
	return called(o, "purge", p.Queue, func() (store.PurgeResult, error) { return o.Store.Purge(ctx, p, r) })
}

func (o *observed) Restore(ctx context.Context, p store.Partition, r store.RestoreRequest) ([]store.Code, error) {
	return called(o, "restore", p.Queue, func() ([]store.Code, error) { return o.Store.Restore(ctx, p, r) })
}

func (o *observed) Configure(ctx context.Context, queue string, c store.Change) (store.Settings, error) {
	return called(o, "configure", queue, func() (store.Settings, error) { return o.Store.Configure(ctx, queue, c) })
}

func (o *observed) DeleteQueue(ctx context.Context, queue string, r store.DeleteRequest) error {
	return calledFor(o, "deletequeue", queue, func() error { return o.Store.DeleteQueue(ctx, queue, r) })
}

func (o *observed) Beat(ctx context.Context, r store.BeatRequest) (store.BeatResult, error) {
	return called(o, "beat", "", func() (store.BeatResult, error) { return o.Store.Beat(ctx, r) })
}

func (o *observed) Duties(ctx context.Context, r []store.DutyRequest) ([]store.Duties, error) {
	return called(o, "duties", "", func() ([]store.Duties, error) { return o.Store.Duties(ctx, r) })
}

func (o *observed) Members(ctx context.Context, queue string) ([]store.LiveMember, error) {
	return called(o, "members", queue, func() ([]store.LiveMember, error) { return o.Store.Members(ctx, queue) })
}

func (o *observed) Notify(ctx context.Context, queue string, e store.Event) error {
	return calledFor(o, "notify", queue, func() error { return o.Store.Notify(ctx, queue, e) })
}

func (o *observed) Now(ctx context.Context, p store.Partition) (int64, error) {
	return called(o, "now", p.Queue, func() (int64, error) { return o.Store.Now(ctx, p) })
}

func (o *observed) Leave(ctx context.Context, p store.Partition, r store.LeaveRequest) error {
	return calledFor(o, "leave", p.Queue, func() error { return o.Store.Leave(ctx, p, r) })
}

func (o *observed) Check(ctx context.Context, p store.Partition, r store.CheckRequest) (store.CheckResult, error) {
	return called(o, "check", p.Queue, func() (store.CheckResult, error) { return o.Store.Check(ctx, p, r) })
}
