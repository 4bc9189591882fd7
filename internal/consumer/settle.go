package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// settler tells the store what became of deliveries.
type settler struct {
	store store.Store
	log   *slog.Logger
}

// settle tells one verdict, for as long as it takes and the lease may be held. With
// ErrLeaseLost and ErrCancelled, too, all is said.
func (s *settler) settle(ctx context.Context, h *Held, v store.Verdict, delay int64, failure string) error {
	h.setPhase(settling)
	item := store.Settlement{Receipt: h.Delivery.Receipt, Delay: delay, Failure: Cut(failure)}
	code, err := s.insist(ctx, h, store.SettleRequest{Verdict: v, Items: []store.Settlement{item}})
	if err != nil {
		h.setPhase(open)
		return err
	}
	h.setPhase(settled)
	if code == store.CodeDead {
		s.log.Warn("dueq: message is dead, its attempts are used up", attributes(h)...)
	}
	return CodeError(v, code)
}

// insist repeats a call until its outcome is known, ctx ends, or the lease could have
// run out.
func (s *settler) insist(ctx context.Context, h *Held, r store.SettleRequest) (store.Code, error) {
	for try := 0; ; try++ {
		call, end := context.WithTimeout(ctx, callTimeout)
		codes, err := s.store.Settle(call, h.Partition, r)
		end()
		if err == nil {
			return codes[0], nil
		}
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) {
			err = fmt.Errorf("no answer within %s: %w", callTimeout, store.ErrUnavailable)
		}
		left := h.remaining(time.Now())
		if hopeless(err) || errors.Is(err, store.ErrCorrupt) || left <= 0 {
			return 0, err
		}
		pause(ctx, min(retryDelay(try), left))
		if ctx.Err() != nil {
			return 0, err
		}
	}
}

// extend is for a handler that wants to hold its lease for longer than it is extended
// by itself.
func (s *settler) extend(ctx context.Context, h *Held, span int64) error {
	began := time.Now()
	item := store.Settlement{Receipt: h.Delivery.Receipt, Delay: span}
	codes, err := s.store.Settle(ctx, h.Partition, store.SettleRequest{Verdict: store.Extend, Items: []store.Settlement{item}})
	if err != nil {
		return err
	}
	if codes[0] == store.CodeOK || codes[0] == store.CodeCancelled {
		h.extended(began.Add(time.Duration(span) * time.Millisecond))
	}
	return CodeError(store.Extend, codes[0])
}

// dropUnstarted settles a delivery that no handler has seen.
func (s *settler) dropUnstarted(ctx context.Context, h *Held, cause error) {
	if phase, _ := h.state(); phase == settled {
		return
	}
	s.log.Debug("dueq: delivery not started", attributes(h, slog.Any("cause", cause))...)
	s.tell(h, store.Release, s.settle(ctx, h, store.Release, 0, ""))
}

// tell logs what did not go as intended.
func (s *settler) tell(h *Held, v store.Verdict, err error) {
	switch {
	case err == nil:
	case errors.Is(err, store.ErrCancelled):
		s.log.Debug("dueq: message was cancelled while it was held", attributes(h)...)
	case errors.Is(err, store.ErrLeaseLost):
		s.log.Warn("dueq: lease lost, the message is delivered again", attributes(h, slog.String("verdict", string(v)))...)
	default:
		s.log.Warn("dueq: lease given up, the message may be delivered again", attributes(h, slog.String("verdict", string(v)), slog.Any("error", err))...)
	}
}

// release gives deliveries back unharmed, once. What cannot be given back comes back
// when its lease has run out.
func (s *settler) release(ctx context.Context, all []*Held) {
	sorted := map[store.Partition][]store.Settlement{}
	for _, h := range all {
		if phase, _ := h.state(); phase != settled {
			h.setPhase(settled)
			sorted[h.Partition] = append(sorted[h.Partition], store.Settlement{Receipt: h.Delivery.Receipt})
		}
	}
	for p, items := range sorted {
		for chunk := range slices.Chunk(items, store.MaxBatch) {
			_, err := s.store.Settle(ctx, p, store.SettleRequest{Verdict: store.Release, Items: chunk})
			if err != nil {
				s.log.Warn("dueq: messages not given back, they come back when their leases have run out",
					slog.String("queue", p.Queue), slog.Int("partition", p.Index), slog.Int("messages", len(chunk)), slog.Any("error", err))
			}
		}
	}
}

// CodeError returns what a code says to somebody who settles.
func CodeError(v store.Verdict, code store.Code) error {
	switch {
	case code == store.CodeOK, code == store.CodeDead && v == store.Nack, code == store.CodeGone && v != store.Extend:
		return nil
	case code == store.CodeLeaseLost, code == store.CodeGone:
		return store.ErrLeaseLost
	case code == store.CodeCancelled:
		return store.ErrCancelled
	}
	return fmt.Errorf("unexpected code %s: %w", code, store.ErrCorrupt)
}

func attributes(h *Held, more ...any) []any {
	return append([]any{
		slog.String("queue", h.Partition.Queue), slog.String("id", h.Delivery.Receipt.ID.String()),
		slog.Int("attempt", h.Delivery.Receipt.Attempt),
	}, more...)
}
