package consumer

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// wake passes the store's hints on. None of them is needed for anything but speed.
type wake struct {
	config   Config
	outage   *outage
	held     *holdings
	fetchers []*fetch
}

// Run watches until ctx ends.
func (w *wake) Run(ctx context.Context) {
	for try := 0; ctx.Err() == nil; try++ {
		heard := false
		err := w.config.Store.Watch(ctx, w.config.Queue, func(e store.Event) {
			heard = true
			w.outage.over("watch")
			w.pass(e)
		})
		if heard {
			try = 0
		}
		if err != nil && ctx.Err() == nil {
			w.outage.begin("watch", err)
		}
		pause(ctx, retryDelay(try))
	}
}

// pass does not block.
func (w *wake) pass(e store.Event) {
	switch e.Kind {
	case store.EventWake:
		if e.Partition >= 0 && e.Partition < len(w.fetchers) {
			w.fetchers[e.Partition].ring()
		}
	case store.EventStop:
		w.held.cancel(e.ID)
	case store.EventResync:
		for _, f := range w.fetchers {
			f.ring()
		}
	}
}
