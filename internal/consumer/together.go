package consumer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// A worker with Config.HandleBatch works on several deliveries in one call: those that wait when
// it becomes free, and those that arrive within Config.Linger of that. Each has its own lease and
// verdict.

// together handles batches until no more are wanted of this worker. A worker that does not exist
// counts as one that waits.
func (w *work) together(life, lasting context.Context) {
	w.capacity.idling(false)
	defer w.capacity.idling(true)
	for {
		all := w.backlog.nextBatch(w.config.Batch, w.config.Linger, w.capacity.idling)
		if len(all) == 0 {
			return
		}
		w.handleBatch(life, lasting, all)
	}
}

// handleBatch calls the handler with deliveries, except those of messages that may end the
// process: each of these gets a call of its own, so that it cannot affect the others.
func (w *work) handleBatch(life, lasting context.Context, all []*Held) {
	began := time.Now()
	defer func() { w.capacity.worked(time.Since(began)) }()
	if w.isStopping() && !w.config.AtMostOnce {
		w.release(life, all)
		w.capacity.give(len(all))
		return
	}
	all = slices.DeleteFunc(all, func(h *Held) bool { return w.pass(life, h) })
	if len(all) == 0 {
		return
	}
	crashed, safe := w.crashed(all)
	if len(crashed) == 0 {
		w.runBatch(life, lasting, safe, func() {})
		return
	}
	w.enqueue(life, safe) // shed releases them if these handlers take too long
	for _, h := range crashed {
		if done, ok := w.isolate(h); ok {
			w.runBatch(life, lasting, []*Held{h}, done)
		}
	}
}

// crashed separates the deliveries of messages that may end the process from the others.
func (w *work) crashed(all []*Held) (crashed, safe []*Held) {
	if w.config.AtMostOnce {
		return nil, all
	}
	if !slices.ContainsFunc(all, (*Held).crashed) {
		return nil, all
	}
	for _, h := range all {
		if h.crashed() {
			crashed = append(crashed, h)
		} else {
			safe = append(safe, h)
		}
	}
	return crashed, safe
}

// runBatch runs the handler on deliveries and settles them. done is called when the handler has
// returned.
func (w *work) runBatch(life, lasting context.Context, all []*Held, done func()) {
	defer done()
	w.recordStarts(life, all)
	g := newGroup(lasting, len(all))
	now := time.Now()
	started := slices.DeleteFunc(all, func(h *Held) bool {
		err := h.beginIn(g, now, w.config.Timeout, w.config.margin())
		if err != nil {
			g.leave(err)
			w.dropUnstarted(h, err, 0)
		}
		return err != nil
	})
	if len(started) == 0 {
		return
	}
	var results []error
	began := time.Now()
	defer func() {
		if results == nil {
			results = same(errGoexit, len(started))
		}
		w.concludeBatch(started, results, time.Since(began))
	}()
	results = w.callBatch(g.ctx, started) //nolint:contextcheck // a child of lasting
}

// recordStarts records the starts of those deliveries that need it, at the same time, so that
// there is one call for each partition.
func (w *work) recordStarts(life context.Context, all []*Held) {
	if w.config.AtMostOnce {
		return
	}
	var recording sync.WaitGroup
	for _, h := range all {
		if h.Delivery.NeedsStart() {
			recording.Go(func() { w.recordStart(life, h) })
		}
	}
	recording.Wait()
}

// callBatch runs the handler with its timeout, and returns a result for each delivery.
func (w *work) callBatch(ctx context.Context, all []*Held) (results []error) {
	w.running.Add(1)
	defer w.running.Add(-1)
	defer func() {
		if v := recover(); v != nil {
			results = w.panicked(v, all)
		}
	}()
	if w.config.Timeout == 0 {
		return w.config.HandleBatch(ctx, all)
	}
	ctx, end := context.WithTimeout(ctx, w.config.Timeout)
	defer end()
	results = w.config.HandleBatch(ctx, all)
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		for i, err := range results {
			results[i] = w.timedOut(err)
		}
	}
	return results
}

// panicked logs a panic of a batch's handler once, and returns it as the failure of each
// delivery.
func (w *work) panicked(v any, all []*Held) []error {
	p := newPanicError(v)
	w.settler.outcomes.logPanic(p, func() []any {
		return []any{slog.String("queue", w.config.Queue), slog.Int("messages", len(all))}
	})
	p.logged = true
	return same(p, len(all))
}

// concludeBatch settles deliveries whose handler has returned, with one call for each verdict.
func (w *work) concludeBatch(all []*Held, results []error, took time.Duration) {
	var causes []error // causes of those whose work had ended before; nil if there are none
	for i, h := range all {
		if cause := h.finish(); cause != nil {
			if causes == nil {
				causes = make([]error, len(all))
			}
			causes[i] = cause
		}
	}
	var verdicts []verdicts
	until := time.Now().Add(w.config.Lease)
	for i, h := range all {
		h.reporting.Lock() // the handler may have left a goroutine that settles
		w.report(h, results[i])
		var cause error
		if causes != nil {
			cause = causes[i]
		}
		if item, v, ok := w.concluded(h, until, cause, results[i], took); ok {
			verdicts = add(verdicts, target{partition: h.Partition, verdict: v}, item, len(all)-i)
		}
		h.reporting.Unlock()
	}
	for i := range verdicts {
		w.settleAll(verdicts[i].target, verdicts[i].items)
	}
}

// verdicts are the deliveries of a batch that are settled in one call.
type verdicts struct {
	target target
	items  []settling
}

// add adds a delivery to those with the same verdict, at most most in one call.
func add(all []verdicts, t target, item settling, most int) []verdicts {
	i := slices.IndexFunc(all, func(v verdicts) bool { return v.target == t })
	if i < 0 {
		i = len(all)
		all = append(all, verdicts{target: t, items: make([]settling, 0, most)})
	}
	all[i].items = append(all[i].items, item)
	return all
}

func same(err error, n int) []error {
	all := make([]error, n)
	for i := range all {
		all[i] = err
	}
	return all
}
