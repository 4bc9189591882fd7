package dueqhttp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
)

// storePath is the path of the methods of the port, which package httpstore calls.
const storePath = wire.Path + "{method}"

// storeMethod is how one method of the port is called over HTTP.
type storeMethod struct {
	reads bool // it changes nothing, so a read-only server has it, too
	serve func(*call) error
}

// serveStore calls a method of the port. The caller can do everything with every queue, so its
// token must be for all of them.
func serveStore(c *call) error {
	if c.token != nil && len(c.token.Queues) > 0 {
		return &statusError{http.StatusForbidden, "the token does not allow this: it is not for all queues"}
	}
	m, ok := c.methods[c.r.PathValue("method")]
	if c.ReadOnly && !m.reads {
		return errReadOnly()
	}
	if !ok {
		return unfit("method", c.r.PathValue("method"), " is not one of the store's")
	}
	return m.serve(c)
}

// storeMethods returns the methods of the port by name.
func storeMethods() map[string]storeMethod {
	return map[string]storeMethod{
		wire.Push:       {serve: onPartition(store.Store.Push)},
		wire.Claim:      {serve: onPartition(store.Store.Claim)},
		wire.Settle:     {serve: onPartition(store.Store.Settle)},
		wire.Extend:     {serve: onPartition(store.Store.Extend)},
		wire.Cancel:     {serve: method(storeCancel)},
		wire.Reschedule: {serve: onPartition(store.Store.Reschedule)},
		wire.Get:        {serve: onPartition(store.Store.Get), reads: true},
		wire.List:       {serve: onPartition(store.Store.List), reads: true},
		wire.Redrive:    {serve: method(storeRedrive)},
		wire.Purge:      {serve: method(storePurge)},
		wire.Restore:    {serve: method(storeRestore)},
		wire.Check:      {serve: onPartition(store.Store.Check), reads: true},
		wire.Leave:      {serve: method(storeLeave)},
		wire.Now:        {serve: method(storeNow), reads: true},
		wire.Stats:      {serve: method(storeStats), reads: true},
		wire.Forecast:   {serve: onPartition(store.Store.Forecast), reads: true},
		wire.Names:      {serve: onPartition(store.Store.Names), reads: true},
		wire.Queues:     {serve: method(storeQueues), reads: true},
		wire.Configure:  {serve: method(storeConfigure), reads: true}, // which refuses changes
		wire.Delete:     {serve: method(storeDelete)},
		wire.Beat:       {serve: method(storeBeat)},
		wire.Duties:     {serve: method(storeDuties)},
		wire.Members:    {serve: method(storeMembers), reads: true},
		wire.Notify:     {serve: method(storeNotify)},
		wire.Watch:      {serve: serveWatch, reads: true},
		wire.Describe:   {serve: method(storeDescribe), reads: true},
	}
}

// method returns what serves a method with a request R and an answer A.
func method[R, A any](do func(*call, *wire.Call[R]) (A, error)) func(*call) error {
	return func(c *call) error {
		var r wire.Call[R]
		if err := c.readUpTo(wire.MaxRequest, &r); err != nil {
			return err
		}
		answer, err := do(c, &r)
		if r.Queue != "" {
			c.addSettings(r.Queue)
		}
		if err != nil {
			return err
		}
		return c.answer(http.StatusOK, answer)
	}
}

// onPartition is method for a method that needs nothing but its request.
func onPartition[R, A any](do func(store.Store, context.Context, store.Partition, R) (A, error)) func(*call) error {
	return method(func(c *call, r *wire.Call[R]) (A, error) {
		return do(c.client.Store(), c.r.Context(), partitionOf(r), r.Request)
	})
}

func partitionOf[R any](r *wire.Call[R]) store.Partition {
	return store.Partition{Queue: r.Queue, Index: r.Partition}
}

// addSettings adds the settings of a queue to the answer, unless the caller has them.
func (c *call) addSettings(queue string) {
	s, ok := c.client.Store().Known(queue)
	if !ok {
		c.w.Header().Set(wire.Settings, wire.NoSettings)
		return
	}
	if c.r.Header.Get(wire.Known) == strconv.FormatInt(s.Version, 10) {
		return
	}
	if encoded, err := json.Marshal(s); err == nil { // numbers, and a name
		c.w.Header().Set(wire.Settings, string(encoded))
	}
}

func storeCancel(c *call, r *wire.Call[store.CancelRequest]) ([]store.Code, error) {
	codes, err := c.client.Store().Cancel(c.r.Context(), partitionOf(r), r.Request)
	if err == nil {
		c.auditStore("cancel", r.Queue, slog.Int("refs", len(codes)))
	}
	return codes, err
}

func storeRedrive(c *call, r *wire.Call[store.RedriveRequest]) ([]store.PushResult, error) {
	results, err := c.client.Store().Redrive(c.r.Context(), partitionOf(r), r.Request)
	if err == nil {
		c.auditStore("redrive", r.Queue, slog.Int("refs", len(results)))
	}
	return results, err
}

func storePurge(c *call, r *wire.Call[store.PurgeRequest]) (store.PurgeResult, error) {
	result, err := c.client.Store().Purge(c.r.Context(), partitionOf(r), r.Request)
	if err == nil {
		c.auditStore("purge", r.Queue, slog.Int("count", result.Removed))
	}
	return result, err
}

func storeRestore(c *call, r *wire.Call[store.RestoreRequest]) ([]store.Code, error) {
	codes, err := c.client.Store().Restore(c.r.Context(), partitionOf(r), r.Request)
	if err == nil {
		c.auditStore("restore", r.Queue, slog.Int("count", len(codes)))
	}
	return codes, err
}

func storeLeave(c *call, r *wire.Call[store.LeaveRequest]) (wire.None, error) {
	return wire.None{}, c.client.Store().Leave(c.r.Context(), partitionOf(r), r.Request)
}

func storeNow(c *call, r *wire.Call[wire.None]) (int64, error) {
	return c.client.Store().Now(c.r.Context(), partitionOf(r))
}

func storeStats(c *call, r *wire.Call[wire.None]) ([]store.Stats, error) {
	return c.client.Store().Stats(c.r.Context(), r.Queue)
}

func storeQueues(c *call, _ *wire.Call[wire.None]) ([]string, error) {
	return c.client.Store().Queues(c.r.Context())
}

func storeConfigure(c *call, r *wire.Call[store.Change]) (store.Settings, error) {
	if c.ReadOnly && !r.Request.Reads() {
		return store.Settings{}, errReadOnly()
	}
	settings, err := c.client.Store().Configure(c.r.Context(), r.Queue, r.Request)
	if err == nil && !r.Request.Reads() {
		c.auditStore("configure queue", r.Queue)
	}
	return settings, err
}

func storeDelete(c *call, r *wire.Call[store.DeleteRequest]) (wire.None, error) {
	err := c.client.Store().DeleteQueue(c.r.Context(), r.Queue, r.Request)
	if err == nil {
		c.auditStore("delete queue", r.Queue, slog.Bool("force", r.Request.Force))
	}
	return wire.None{}, err
}

func storeBeat(c *call, r *wire.Call[store.BeatRequest]) (store.BeatResult, error) {
	return c.client.Store().Beat(c.r.Context(), r.Request)
}

func storeDuties(c *call, r *wire.Call[[]store.DutyRequest]) ([]store.Duties, error) {
	return c.client.Store().Duties(c.r.Context(), r.Request)
}

func storeMembers(c *call, r *wire.Call[wire.None]) ([]store.LiveMember, error) {
	return c.client.Store().Members(c.r.Context(), r.Queue)
}

func storeNotify(c *call, r *wire.Call[store.Event]) (wire.None, error) {
	return wire.None{}, c.client.Store().Notify(c.r.Context(), r.Queue, r.Request)
}

func (c *call) auditStore(what, queue string, attrs ...slog.Attr) {
	c.audit(what, append([]slog.Attr{slog.String("queue", queue)}, attrs...)...)
}
