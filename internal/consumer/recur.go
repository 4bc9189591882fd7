package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/internal/series"
	"github.com/dueq-dev/dueq/store"
)

// The reasons why an occurrence of a recurring message is skipped.
var (
	errMissed = errors.New("missed: the next time of its schedule has come")
	errSpent  = errors.New("its last lease ran out on its last attempt")
)

// Passed returns the verdict on a delivery that no handler must get, and the reason, or nil. ago
// is the time since its claim.
func Passed(d *store.Delivery, ago time.Duration) (*Verdict, error) {
	action, err := series.Judge(d, ago)
	switch action {
	case series.Skip:
		return &Verdict{Verdict: store.Ack}, errMissed
	case series.Spent:
		return &Verdict{Verdict: store.Reject, Failure: series.SpentFailure}, errSpent
	case series.Unreadable:
		return &Verdict{Verdict: store.Release, Delay: series.RetryAfter.Milliseconds()}, fmt.Errorf("left to other consumers: %w", err)
	case series.Run:
	}
	return nil, nil //nolint:nilnil // there is no verdict yet
}

// pass reports whether no handler must get h, and settles it then.
func (w *work) pass(life context.Context, h *Held) bool {
	if h.Delivery.Repeat == "" {
		return false
	}
	if phase, _ := h.state(); phase == settled && !w.config.AtMostOnce {
		return false // no handler is started for it either way
	}
	v, why := Passed(h.Delivery, time.Since(h.ended))
	if v != nil {
		w.settler.outcomes.passed.log(func() []any { return attributes(h, slog.Any("cause", why)) })
	}
	if w.config.AtMostOnce {
		return w.passOnce(life, h, v, why)
	}
	if v != nil {
		item := newSettling(h, *v)
		item.result = why
		h.setUnderWay(time.Now().Add(w.config.Lease))
		w.startSettling(target{partition: h.Partition, verdict: v.Verdict}, item)
	}
	return v != nil
}

// passOnce is pass with Config.AtMostOnce. The store has leased the message although it acks
// others at the claim, so that the series continues: passOnce schedules the next occurrence
// before a handler gets this one. v is nil if a handler is to get it, otherwise why
// says why none does.
func (w *work) passOnce(life context.Context, h *Held, v *Verdict, why error) bool {
	pass := v != nil
	if v == nil {
		v = &Verdict{Verdict: store.Ack}
	}
	ctx, end := context.WithTimeout(life, callTimeout)
	defer end()
	said := once(ctx, w.config.Store, target{partition: h.Partition, verdict: v.Verdict}, []settling{newSettling(h, *v)})[0]
	err := said.err
	if err == nil {
		err = v.Verdict.Err(said.code)
	}
	if err != nil {
		w.config.Log.Warn("dueq: could not settle a recurring message; it will be delivered again when its lease has run out", attributes(h, slog.Any("error", err))...)
	}
	if pass {
		w.settler.outcomes.pass(Outcome{Held: h, Verdict: *v, Result: why, Err: err})
	}
	if pass || err != nil {
		w.over(h)
		return true
	}
	return false
}
