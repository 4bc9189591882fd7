package consumer

import (
	"context"
	"time"
)

// dispatch gives slots that several consumers share to the deliveries of this one, and
// starts a worker for each: only those that have something to do exist. It also asks for the
// slots of claims when fetchers can have none without. It ends when the consumer stops or,
// where deliveries are acked already and cannot be released, when the last has a worker.
func (w *work) dispatch(ctx, life, lasting context.Context) {
	defer w.workers.Done()
	share := w.config.Share
	defer share.trim(0)
	defer share.ask(0)
	if w.config.AtMostOnce {
		ctx = life
	}
	for {
		w.startWaiting(life, lasting)
		if w.backlog.over() {
			return
		}
		if needed, wanted := w.capacity.wanted(); share.ask(wanted) > needed {
			w.capacity.offer()
		}
		select {
		case <-share.wake:
		case <-ctx.Done():
			return
		}
	}
}

// startWaiting starts workers for deliveries that wait, as long as there are slots.
func (w *work) startWaiting(life, lasting context.Context) {
	for w.backlog.len() > 0 && w.config.Share.start() {
		w.workers.Add(1)
		go w.serve(life, lasting, w.backlog.poll())
	}
}

// serve is a worker that has a slot. It ends when the slot goes to another queue, or when
// nothing waits (h is nil). A handler that calls runtime.Goexit ends it, too.
func (w *work) serve(life, lasting context.Context, h *Held) {
	defer w.workers.Done()
	has := true
	defer func() {
		if has {
			w.config.Share.release()
		}
	}()
	for h != nil {
		began := time.Now()
		w.handle(life, lasting, h)
		if has = w.config.Share.again(time.Since(began)); !has {
			return
		}
		h = w.backlog.poll()
	}
}
