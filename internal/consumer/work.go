package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// work runs handlers on the deliveries of the fetchers.
type work struct {
	config   *Config
	capacity *capacity
	held     *holdings
	gates    []*gate      // of the partitions
	duties   []*duty      // likewise
	hints    *atomic.Bool // the store's hints arrive
	settler  *settler
	outage   *outage

	backlog  *backlog
	claiming runners // the roles that end when the consumer stops
	tending  runners // those that run for as long as deliveries are held
	extend   *runner // one of them; nil with Config.AtMostOnce, like the next two
	lapse    *runner
	shed     *runner
	staff    *runner // nil with Config.Share
	workers  sync.WaitGroup
	settling sync.WaitGroup
	notices  sync.WaitGroup // events for other consumers that are being sent
	running  atomic.Int64   // handlers that run
	stopping <-chan struct{}
}

func newWork(c *Config, held *holdings, s *settler) *work {
	waiting := newBacklog(&s.capacity.bytes)
	s.capacity.queued = waiting.len
	hints := new(atomic.Bool)
	return &work{
		hints: hints, duties: newDuties(c.Partitions, hints),
		config: c, capacity: s.capacity, held: held, gates: newGates(c, held), settler: s,
		backlog: waiting, outage: newOutage(c.Log),
	}
}

// start prepares the work. Handler contexts inherit the values of life but not its cancellation:
// each is cancelled individually, with a cause, which costs less. When ctx ends, no more handlers
// are started.
func (w *work) start(ctx, life context.Context) {
	w.stopping, w.settler.life = ctx.Done(), life
	w.settler.over = func(all []settling) {
		w.held.removeSettled(all)
		w.capacity.settled(all[0].held.Partition.Index, len(all))
		w.settling.Add(-len(all))
	}
	w.settler.failed = func(h *Held, err error) Verdict {
		if errors.Is(err, store.ErrRepartitioned) { // a Next whose messages belong elsewhere by now: the handler runs again
			return Verdict{Verdict: store.Release}
		}
		return w.judge(h, nil, err)
	}
	if w.config.Share != nil {
		w.startDispatch(ctx, life)
	} else {
		w.staff = w.tending.add(w.reduce)
	}
	if w.config.AtMostOnce {
		return
	}
	w.startLeases(life)
	w.startShed(ctx)
}

// finish makes the workers end when no delivery waits any more. returned is closed when they have
// ended, done when the store also has all verdicts.
func (w *work) finish() (returned, done <-chan struct{}) {
	w.backlog.close()
	if w.config.Share != nil {
		w.config.Share.ring() // the dispatcher ends
	}
	ended, known := make(chan struct{}), make(chan struct{})
	go func() {
		w.workers.Wait()
		close(ended)
		w.settling.Wait()
		close(known)
	}()
	return ended, known
}

// accept takes over the deliveries of a claim, or releases them if the consumer is stopping. It
// counts the leases from before the claim, so that it can only underestimate them.
func (w *work) accept(life context.Context, p store.Partition, deliveries []store.Delivery, began time.Time) {
	all, claim := w.newHeld(deliveries), &claimed{Partition: p, holder: w.settler, began: began, ended: time.Now()}
	for _, h := range all {
		h.claimed, h.deadline, h.until = claim, w.config.Lease, w.config.MaxHold
		if w.config.AtMostOnce {
			h.phase = settled
		}
	}
	if w.isStopping() && !w.config.AtMostOnce {
		w.release(life, all)
		w.capacity.give(len(all))
		return
	}
	w.held.add(all)
	w.gates[p.Index].expect(began.Add(w.config.Lease))
	w.watchLeases()
	w.enqueue(life, all)
}

// enqueue hands deliveries to the workers.
func (w *work) enqueue(life context.Context, all []*Held) {
	w.backlog.add(all)
	if w.config.Share != nil {
		w.config.Share.ring()
		return
	}
	w.hire(life)
}

// newHeld returns the Held of deliveries. For batches, whose deliveries end at about the same
// time, they are one allocation and point into deliveries. Otherwise each has a copy of its
// delivery, so that a slow handler does not keep the messages of others in memory.
func (w *work) newHeld(deliveries []store.Delivery) []*Held {
	all := make([]*Held, len(deliveries))
	if w.config.HandleBatch != nil {
		chunk := make([]Held, len(deliveries))
		for i := range all {
			all[i], chunk[i].Delivery = &chunk[i], &deliveries[i]
		}
		return all
	}
	for i := range all {
		alone := &struct {
			Held
			delivery store.Delivery
		}{delivery: deliveries[i]}
		alone.Delivery = &alone.delivery
		all[i] = &alone.Held
	}
	return all
}

// worker handles deliveries one after the other. A handler that calls runtime.Goexit ends the
// goroutine, which is replaced.
func (w *work) worker(life context.Context) {
	returned := false
	defer func() {
		if !returned {
			go w.worker(life)
			return
		}
		w.workers.Done()
	}()
	lasting := context.WithoutCancel(life)
	if w.config.HandleBatch != nil {
		w.together(life, lasting)
		returned = true
		return
	}
	for h := w.backlog.next(); h != nil; h = w.backlog.next() {
		w.handle(life, lasting, h)
	}
	returned = true
}

// handle runs the handler on one delivery and settles it. The handler's context is a child of
// lasting.
func (w *work) handle(life, lasting context.Context, h *Held) {
	if w.pass(life, h) {
		return
	}
	done, ok := w.isolate(h)
	if !ok {
		return
	}
	defer done()
	began := time.Now()
	defer func() { w.capacity.worked(time.Since(began)) }()
	if w.isStopping() && !w.config.AtMostOnce {
		w.release(life, []*Held{h})
		w.over(h)
		return
	}
	w.recordStart(life, h)
	started := time.Now()
	ctx, err := h.begin(lasting, started, w.config.Timeout, w.config.margin())
	if err != nil {
		w.dropUnstarted(h, err, 0)
		return
	}
	err = errGoexit
	defer func() { w.conclude(h, context.Cause(ctx), err, started) }()
	err = w.call(ctx, h)
}

// over ends the holding of a delivery, and frees its permit.
func (w *work) over(h *Held) {
	w.held.remove(h)
	w.capacity.give(1)
}

// dropUnstarted releases a delivery that no handler has got. The message is due again after delay
// ms.
func (w *work) dropUnstarted(h *Held, cause error, delay int64) {
	if phase, _ := h.state(); phase == settled {
		w.over(h)
		return
	}
	w.config.Log.Debug("dueq: delivery not started", attributes(h, slog.Any("cause", cause))...)
	w.settle(h, Verdict{Verdict: store.Release, Delay: delay})
}

// settle reports a verdict without waiting for the store.
func (w *work) settle(h *Held, v Verdict) {
	h.setUnderWay(time.Now().Add(w.config.Lease))
	w.startSettling(target{partition: h.Partition, verdict: v.Verdict}, newSettling(h, v))
}

// startSettling is settle for a delivery that is underWay. The delivery counts as held until the
// store has the verdict, so that no more are claimed while the store is slow or down, and
// [work.finish] waits for it.
func (w *work) startSettling(t target, item settling) {
	w.settling.Add(1)
	w.capacity.settling(t.partition.Index, 1)
	w.settler.start(t, item)
}

// settleAll is startSettling for several deliveries of a partition. The caller must not use items
// any more.
func (w *work) settleAll(t target, items []settling) {
	w.settling.Add(len(items))
	w.capacity.settling(t.partition.Index, len(items))
	w.settler.startAll(t, items)
}

// call runs the handler with its timeout.
func (w *work) call(ctx context.Context, h *Held) (err error) {
	w.running.Add(1)
	defer w.running.Add(-1)
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
	}()
	if w.config.Timeout == 0 {
		return w.config.Handle(ctx, h)
	}
	ctx, end := context.WithTimeout(ctx, w.config.Timeout)
	defer end()
	err = w.config.Handle(ctx, h)
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = w.timedOut(err)
	}
	return err
}

// timedOut adds the timeout to the result of a handler that exceeded it.
func (w *work) timedOut(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("timeout of %s: %w", w.config.Timeout, err)
}

// conclude settles a delivery whose handler has returned. cause is why its context had ended
// before, nil if it had not.
func (w *work) conclude(h *Held, cause, err error, started time.Time) {
	ended := time.Now()
	h.stop(nil)
	h.reporting.Lock() // the handler may have left a goroutine that settles
	defer h.reporting.Unlock()
	w.report(h, err)
	if item, v, ok := w.concluded(h, ended.Add(w.config.Lease), cause, err, ended.Sub(started)); ok {
		w.startSettling(target{partition: h.Partition, verdict: v}, item)
	}
}

// concluded returns the verdict on a delivery whose handler has returned, and makes the delivery
// underWay, for until at most. It needs no verdict if the handler has settled it, if the store
// has given it to another consumer, or if it was acked before.
func (w *work) concluded(h *Held, until time.Time, cause, err error, took time.Duration) (settling, store.Verdict, bool) {
	phase, lost := h.conclude(until)
	if phase == settled && !lost && !w.config.AtMostOnce {
		w.over(h) // settled by the handler
		return settling{}, "", false
	}
	v := Verdict{Verdict: store.Ack}
	if !w.config.AtMostOnce {
		v = w.judge(h, cause, err)
	}
	item := newSettling(h, v)
	item.handled, item.result, item.took = true, err, took
	if phase != settled {
		return item, v.Verdict, true
	}
	var why error
	if lost {
		why = store.ErrLeaseLost // which has been logged
	}
	w.settler.outcomes.pass(item.outcome(v.Verdict, store.CodeOK, why))
	w.over(h)
	return settling{}, "", false
}

// report logs panics, and errors that the store does not keep.
func (w *work) report(h *Held, err error) {
	if err == nil {
		return
	}
	if dropped, ok := errors.AsType[*DropError](err); ok {
		w.config.Log.Warn("dueq: message dropped by its handler", attributes(h, slog.Any("error", dropped))...)
		return
	}
	if panicked, ok := errors.AsType[*panicError](err); ok {
		if panicked.logged {
			return
		}
		w.settler.outcomes.logPanic(panicked, func() []any { return attributes(h) })
		return
	}
	if w.config.AtMostOnce {
		w.config.Log.Warn("dueq: handler failed, the message is lost", attributes(h, slog.Any("error", err))...)
	}
}

// notify sends an event to the other consumers. It does not wait.
func (w *work) notify(ctx context.Context, e store.Event) {
	w.notices.Go(func() {
		ctx, end := context.WithTimeout(context.WithoutCancel(ctx), noticeTimeout)
		defer end()
		if err := w.config.Store.Notify(ctx, w.config.Queue, e); err != nil {
			w.config.Log.Debug("dueq: could not notify the other consumers", slog.String("queue", w.config.Queue), slog.Any("error", err))
		}
	})
}

// noticeTimeout is how long a notice may take. One that is late is of no use.
const noticeTimeout = time.Second

// callForHelp calls other consumers of a partition, unless they have been called lately.
func (w *work) callForHelp(ctx context.Context, d *duty) {
	if n := d.calls(); n > 0 {
		w.notify(ctx, store.Event{Kind: store.EventHelp, Partition: d.partition, Helpers: n})
	}
}

func (w *work) isStopping() bool {
	select {
	case <-w.stopping:
		return true
	default:
		return false
	}
}

// releaseWaiting ends the claiming of a consumer that stops, and releases the deliveries that wait for
// a worker at once, without waiting for the claims in flight. Messages that are acked already are left
// to the workers.
func (w *work) releaseWaiting(ctx context.Context) {
	w.backlog.stopLingering()
	if w.config.AtMostOnce {
		w.claiming.end()
		return
	}
	w.releaseBacklog(ctx)
	w.claiming.end()
	w.releaseBacklog(ctx) // those of claims that were answered just when the consumer began to stop
}

func (w *work) releaseBacklog(ctx context.Context) {
	all := w.backlog.takeAll()
	w.release(ctx, all)
	w.capacity.give(len(all))
}

// release releases deliveries, in as few calls as possible.
func (w *work) release(life context.Context, all []*Held) {
	if len(all) == 0 {
		return
	}
	ctx, end := context.WithTimeout(life, callTimeout)
	defer end()
	w.settler.giveBack(ctx, all)
	for _, h := range all {
		w.held.remove(h)
	}
}

// judge returns the verdict for the result of h's handler. cause is why its context had ended
// before, nil if it had not.
func (w *work) judge(h *Held, cause, err error) Verdict {
	if err == nil {
		return Verdict{Verdict: store.Ack}
	}
	return Judge(err, errors.Is(cause, store.ErrClosed), func() time.Duration { return w.backoff(h, err) })
}

// backoff calls the user's backoff function. It recovers panics and limits the result.
func (w *work) backoff(h *Held, err error) (d time.Duration) {
	defer func() {
		if v := recover(); v != nil {
			w.config.Log.Error("dueq: Backoff panicked; the delay is one minute", slog.Any("panic", v))
			d = time.Minute
		}
	}()
	return min(max(w.config.Backoff(h, err), 0), store.MaxDelay*time.Millisecond)
}
