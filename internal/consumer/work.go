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

// work runs handlers on what fetchers bring.
type work struct {
	config   Config
	capacity *capacity
	held     *holdings
	gates    []*gate // of the partitions
	settler  *settler

	backlog  *backlog
	workers  sync.WaitGroup
	settling sync.WaitGroup
	running  atomic.Int64 // handlers
	stopping <-chan struct{}
}

func newWork(c Config, held *holdings, s *settler) *work {
	waiting := newBacklog(&s.capacity.bytes)
	s.capacity.queued = waiting.len
	return &work{
		config: c, capacity: s.capacity, held: held, gates: newGates(c, held), settler: s,
		backlog: waiting,
	}
}

// start starts the workers. Handlers get contexts of life, but for its end: each is
// cancelled individually, with a cause, which costs less. When ctx ends, no more handlers
// are started.
func (w *work) start(ctx, life context.Context) {
	w.stopping, w.settler.life = ctx.Done(), life
	w.settler.over = func(all []settling) {
		w.held.removeSettled(all)
		w.capacity.settled(all[0].held.Partition.Index, len(all))
		w.settling.Add(-len(all))
	}
	w.settler.failed = func(h *Held, err error) Verdict { return w.judge(h, nil, err) }
	if w.config.Share != nil {
		w.workers.Add(1)
		go w.dispatch(ctx, life, context.WithoutCancel(life))
		return
	}
	for range w.config.Concurrency {
		w.workers.Add(1)
		go w.worker(life)
	}
}

// finish lets the workers end when nothing waits for them any more. returned is closed
// when they have, done when the store also knows all verdicts.
func (w *work) finish() (returned, done <-chan struct{}) {
	w.backlog.close()
	w.ring()
	ended, known := make(chan struct{}), make(chan struct{})
	go func() {
		w.workers.Wait()
		close(ended)
		w.settling.Wait()
		close(known)
	}()
	return ended, known
}

// accept takes over what a claim has brought; a consumer that is stopping releases it.
// The leases are counted from before the claim, so that the estimate can only be too
// short.
func (w *work) accept(life context.Context, p store.Partition, deliveries []store.Delivery, began time.Time) {
	all, claim := w.newHeld(deliveries), &claimed{began: began, ended: time.Now()}
	deadline := began.Add(w.config.Lease)
	for _, h := range all {
		h.Partition, h.holder, h.claim, h.deadline = p, w.settler, claim, deadline
		if w.config.MaxHold > 0 {
			h.until = began.Add(w.config.MaxHold)
		}
		if w.config.AtMostOnce {
			h.phase = settled
		}
	}
	if w.isStopping() && !w.config.AtMostOnce {
		w.release(life, all)
		return
	}
	w.held.add(all)
	w.gates[p.Index].expect(deadline)
	w.backlog.add(all)
	w.ring()
}

// newHeld returns what is held of deliveries: for batches, of which all are done at about the
// same time, in one piece of memory and where the deliveries are; elsewhere each with a copy of
// its delivery, so that a slow handler does not keep the messages of others in memory.
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

// ring has the dispatcher look, if there is one.
func (w *work) ring() {
	if w.config.Share != nil {
		w.config.Share.ring()
	}
}

// worker handles deliveries one after the other. A handler that calls runtime.Goexit
// ends its goroutine, so another takes its place.
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

// handle runs the handler on one delivery and has it settled. The handler's context is a
// child of lasting.
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
	ctx, err := h.begin(lasting, w.config.Timeout, w.config.margin())
	if err != nil {
		w.dropUnstarted(h, err, 0)
		return
	}
	err = errGoexit
	started := time.Now()
	defer func() { w.conclude(h, context.Cause(ctx), err, time.Since(started)) }()
	err = w.call(ctx, h)
}

// over ends the holding of a delivery, and makes room for another.
func (w *work) over(h *Held) {
	w.held.remove(h)
	w.capacity.give(1)
}

// dropUnstarted releases a delivery that no handler has seen; it is due again after
// delay ms.
func (w *work) dropUnstarted(h *Held, cause error, delay int64) {
	if phase, _ := h.state(); phase == settled {
		w.over(h)
		return
	}
	w.config.Log.Debug("dueq: delivery not started", attributes(h, slog.Any("cause", cause))...)
	w.settle(h, Verdict{Verdict: store.Release, Delay: delay})
}

// settle hands over a verdict.
func (w *work) settle(h *Held, v Verdict) {
	h.setUnderWay(time.Now().Add(w.config.Lease))
	w.startSettling(target{partition: h.Partition, verdict: v.Verdict}, newSettling(h, v))
}

// startSettling hands over a verdict on a delivery that is underWay. It counts as held until
// the store knows, so a store that is slow or away keeps more from being claimed, and
// [work.finish] waits.
func (w *work) startSettling(t target, item settling) {
	w.settling.Add(1)
	w.capacity.settling(t.partition.Index, 1)
	w.settler.start(t, item)
}

// settleAll is startSettling for several deliveries of a partition. It keeps items.
func (w *work) settleAll(t target, items []settling) {
	w.settling.Add(len(items))
	w.capacity.settling(t.partition.Index, len(items))
	w.settler.startAll(t, items)
}

// call runs the handler within its time.
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

// timedOut adds the limit to the result of a handler whose time was up.
func (w *work) timedOut(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("timeout of %s: %w", w.config.Timeout, err)
}

// conclude has a delivery settled whose handler has come back; cause is why its context
// had ended, if it had.
func (w *work) conclude(h *Held, cause, err error, took time.Duration) {
	h.stop(nil)
	h.turn.Lock() // the handler may have left a goroutine that settles
	defer h.turn.Unlock()
	w.report(h, err)
	if item, v, ok := w.concluded(h, time.Now().Add(w.config.Lease), cause, err, took); ok {
		w.startSettling(target{partition: h.Partition, verdict: v}, item)
	}
}

// concluded returns the verdict on a delivery whose handler has returned, which is underWay
// then, for until at most, unless it needs none: the handler has settled it, the store has
// given it to somebody else, or it was acked before.
func (w *work) concluded(h *Held, until time.Time, cause, err error, took time.Duration) (settling, store.Verdict, bool) {
	phase, lost := h.conclude(until)
	if phase == settled && !lost && !w.config.AtMostOnce {
		w.over(h) // by the handler
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

// report logs errors that the store does not keep, and panics.
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

func (w *work) isStopping() bool {
	select {
	case <-w.stopping:
		return true
	default:
		return false
	}
}

// releaseWaiting gives back what waits for a worker as soon as the consumer stops,
// until nothing more can come. Messages that are acked already are left to the workers.
func (w *work) releaseWaiting(ctx context.Context, fetched <-chan struct{}) {
	w.backlog.stopLingering()
	if w.config.AtMostOnce {
		return
	}
	w.release(ctx, w.backlog.takeAll())
	<-fetched
	w.release(ctx, w.backlog.takeAll()) // of claims that were answered just when it began to stop
}

// release gives deliveries back unharmed, in as few calls as possible.
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

// judge turns what the handler of h returned into a verdict. cause is why its context had
// ended, if it had.
func (w *work) judge(h *Held, cause, err error) Verdict {
	if err == nil {
		return Verdict{Verdict: store.Ack}
	}
	return Judge(err, errors.Is(cause, store.ErrClosed), func() time.Duration { return w.backoff(h, err) })
}

// backoff guards against a function of the user's that panics or returns nonsense.
func (w *work) backoff(h *Held, err error) (d time.Duration) {
	defer func() {
		if v := recover(); v != nil {
			w.config.Log.Error("dueq: Backoff panicked, one minute is taken", slog.Any("panic", v))
			d = time.Minute
		}
	}()
	return min(max(w.config.Backoff(h, err), 0), store.MaxDelay*time.Millisecond)
}
