package consumer

import (
	"context"
	"fmt"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// recordStart records that the handler of h is about to run, where the store has to know
// (see [store.Suspicion]). If the store does not confirm it, h is not to be worked on.
func (w *work) recordStart(life context.Context, h *Held) {
	if w.config.AtMostOnce || !h.Delivery.NeedsStart() {
		return
	}
	if err := w.settler.recordStart(life, h); err != nil {
		h.stop(err)
	}
}

// recordStart returns nil once the store has recorded the start. Starts on one partition
// that are recorded at the same time share a call.
func (s *settler) recordStart(ctx context.Context, h *Held) error {
	began := time.Now()
	said := s.do(ctx, target{partition: h.Partition, lease: s.lease.Milliseconds(), start: true}, &settling{held: h})
	if said.err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if said.err != nil {
		return fmt.Errorf("record the start: %w", said.err)
	}
	if said.code == store.CodeOK || said.code == store.CodeCancelled {
		h.extended(began.Add(s.lease))
	} else {
		h.lose()
	}
	return said.code.ExtendErr()
}
