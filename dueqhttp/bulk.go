package dueqhttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/dueq-dev/dueq"
)

// many is a request about several messages: those that refs name, or all that a filter chooses.
type many struct {
	Refs   []string `json:"refs"`   // redrive, delete
	Filter *filter  `json:"filter"` // redrive, purge, reschedule
	DryRun bool     `json:"dry_run"`
	Spread string   `json:"spread"` // redrive, reschedule
	Delay  string   `json:"delay"`  // reschedule
	Due    string   `json:"due"`    // reschedule
}

// count is the answer to such a request.
type count struct {
	Count  int       `json:"count"`
	DryRun bool      `json:"dry_run,omitempty"`
	Errors []refusal `json:"errors,omitempty"` // of messages that were not changed
}

// refusal is why a message was not changed.
type refusal struct {
	Ref string `json:"ref"`
	problem
}

// bulk is one of these operations.
type bulk struct {
	byRefs   func(context.Context, *dueq.Queue, []dueq.Ref) (int, error)                                    // nil: it takes no refs
	byFilter func(context.Context, *dueq.Queue, dueq.Filter, dueq.Schedule, *dueq.BulkOptions) (int, error) // nil: it takes no filter
	paced    bool                                                                                           // it takes a spread
	timed    bool                                                                                           // it takes a due time
}

func serveDelete(c *call) error {
	return c.change("delete", bulk{byRefs: func(ctx context.Context, q *dueq.Queue, refs []dueq.Ref) (int, error) {
		return q.Delete(ctx, refs...)
	}})
}

func serveRedrive(c *call) error {
	return c.change("redrive", bulk{
		byRefs: func(ctx context.Context, q *dueq.Queue, refs []dueq.Ref) (int, error) { return q.Redrive(ctx, refs...) },
		byFilter: func(ctx context.Context, q *dueq.Queue, f dueq.Filter, _ dueq.Schedule, o *dueq.BulkOptions) (int, error) {
			return q.RedriveAll(ctx, f, o)
		},
		paced: true,
	})
}

func servePurge(c *call) error {
	return c.change("purge", bulk{byFilter: func(ctx context.Context, q *dueq.Queue, f dueq.Filter, _ dueq.Schedule, o *dueq.BulkOptions) (int, error) {
		return q.Purge(ctx, f, o)
	}})
}

func serveRescheduleAll(c *call) error {
	return c.change("reschedule", bulk{
		byFilter: func(ctx context.Context, q *dueq.Queue, f dueq.Filter, to dueq.Schedule, o *dueq.BulkOptions) (int, error) {
			return q.RescheduleAll(ctx, f, to, o)
		},
		paced: true, timed: true,
	})
}

// change changes several messages, and answers how many.
func (c *call) change(op string, b bulk) error {
	q, err := c.queue()
	if err != nil {
		return err
	}
	var m many
	if err := c.read(&m); err != nil {
		return err
	}
	if err := b.check(&m); err != nil {
		return err
	}
	n, err := b.run(c.r.Context(), q, &m)
	answer := count{Count: n, DryRun: m.DryRun}
	switch unknown := err != nil && newProblem(err).Outcome != ""; {
	case m.DryRun:
	case unknown:
		c.audit(op, slog.Int("count", n), slog.String("outcome", "unknown")) // there may be more
	case n > 0 || err == nil:
		c.audit(op, slog.Int("count", n))
	}
	if answer.Errors, err = c.refusals(err); err != nil {
		return err
	}
	return c.answer(http.StatusOK, answer)
}

// check returns an error for members that do not belong to the operation. Without refs and
// without a filter nothing is chosen; it never means all messages.
func (b *bulk) check(m *many) error {
	switch {
	case m.Refs != nil && b.byRefs == nil:
		return invalid("refs", "does not belong to this request")
	case m.Filter != nil && b.byFilter == nil:
		return invalid("filter", "does not belong to this request")
	case m.Refs != nil && m.Filter != nil:
		return invalid("filter", "is given together with refs, want one of them")
	case m.Refs == nil && m.Filter == nil && b.byFilter == nil:
		return invalid("refs", "is missing")
	case m.Refs == nil && m.Filter == nil:
		return invalid("filter", "is missing; {} chooses all messages")
	case m.Refs != nil && m.DryRun:
		return invalid("dry_run", "belongs to a filter")
	case m.Spread != "" && (!b.paced || m.Refs != nil):
		return invalid("spread", "does not belong to this request")
	case !b.timed && (m.Delay != "" || m.Due != ""):
		return invalid("delay", "does not belong to this request, nor does due")
	case b.timed && m.Delay == "" && m.Due == "":
		return invalid("delay", "is missing, and so is due: want one of them")
	}
	if m.Refs == nil {
		return nil
	}
	return checkItems("refs", len(m.Refs))
}

func (b *bulk) run(ctx context.Context, q *dueq.Queue, m *many) (int, error) {
	if m.Refs != nil {
		refs := make([]dueq.Ref, len(m.Refs))
		for i, text := range m.Refs {
			var err error
			if refs[i], err = dueq.ParseRef(text); err != nil {
				return 0, err
			}
		}
		return b.byRefs(ctx, q, refs)
	}
	f, err := m.Filter.plain()
	if err != nil {
		return 0, err
	}
	o := &dueq.BulkOptions{DryRun: m.DryRun}
	if o.Spread, err = span("spread", m.Spread); err != nil {
		return 0, err
	}
	to, err := schedule(m.Delay, m.Due)
	if err != nil {
		return 0, err
	}
	return b.byFilter(ctx, q, f, to, o)
}

// refusals divides an error into those of single messages and one because of which the request
// failed.
func (c *call) refusals(err error) ([]refusal, error) {
	if err == nil {
		return nil, nil
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var found []refusal
	for _, e := range all {
		of, ok := errors.AsType[*dueq.Error](e)
		if !ok && len(found) > 0 { // the number of those behind the first 100
			found = append(found, refusal{"", problem{Status: http.StatusConflict, Code: "more", Detail: e.Error()}})
			continue
		}
		p := c.problem(e)
		if !ok || of.ID == "" || p.Status >= http.StatusInternalServerError || p.Status == http.StatusBadRequest {
			return nil, err
		}
		found = append(found, refusal{of.ID, p})
	}
	return found, nil
}
