package embedded

import (
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/dueq-dev/dueq/internal/failurelog"
	"github.com/dueq-dev/dueq/store"
)

// maxSweep is how many leases that ran out one claim ends at most.
const maxSweep = 100

// leaseRanOut is the failure text of a delivery that was not settled in time.
const leaseRanOut = "lease ran out"

const (
	// readAgain is when a message is due again after an error of the disk.
	readAgain = time.Second
	// condemnedMost bounds the failure text of a message that cannot be read.
	condemnedMost = 128
	// condemnedCounts is how many removals take as much of the log as one such message.
	condemnedCounts = condemnSize/removeSize + 1
	// finishedCounts is how many removals take as much of the log as a message that becomes done.
	finishedCounts = finishSize/removeSize + 1
	// uselessMost is how many removals of messages that it cannot hand out a claim makes at most.
	uselessMost = store.MaxExpired + condemnedCounts
)

// handedOut is what is remembered of a delivery. The rest is in the partition as long as
// the delivery has its lease.
type handedOut struct {
	receipt store.Receipt
	due     int64
}

func appendHandedOut(to []handedOut, deliveries []store.Delivery) []handedOut {
	for i := range deliveries {
		to = append(to, handedOut{deliveries[i].Receipt, deliveries[i].Due})
	}
	return to
}

func (p *partition) claim(r store.ClaimRequest, now instant) store.ClaimResult {
	switch answer, novelty := p.consumers.recall(r.Consumer, r.Number, now); novelty {
	case outdated:
		return store.ClaimResult{Stale: true}
	case repeated:
		return store.ClaimResult{Deliveries: p.handOutAgain(answer, now), Wait: p.wait(now)}
	case fresh:
	}
	if !p.fetched(r, now) {
		return store.ClaimResult{} // not an answer: the step is run again
	}
	p.sweep(now)
	p.memory.lapse(now)
	wait := p.wait
	more := p.trim(now)
	if p.shed(shedMost, now) || more {
		wait = func(now instant) time.Duration { return min(p.wait(now), trimAgain) }
	}
	if p.queue.load().Paused {
		return store.ClaimResult{Paused: true, Wait: wait(now)}
	}
	deliveries := p.handOutFetched(r, now)
	if r.AckOnClaim {
		p.rememberClaim(r.Consumer, r.Number, nil, now)
	} else {
		p.rememberClaim(r.Consumer, r.Number, deliveries, now)
	}
	return store.ClaimResult{Deliveries: deliveries, Wait: wait(now)}
}

// sweep ends leases that ran out, in the order of their deadlines.
func (p *partition) sweep(now instant) {
	for range maxSweep {
		e := p.leased.reached(now)
		if e == nil {
			return
		}
		p.count(countLeaseLost)
		if e.stopping() {
			p.count(countCancelled)
			p.finish(e, cancelled, now)
			continue
		}
		p.ranOut(e, now)
	}
}

// ranOut ends a lease that ran out. The delivery counts as a failure only if its handler
// had started; then the message is delayed, so that it does not become due together with
// all messages that were leased at the same time.
func (p *partition) ranOut(e *entry, now instant) {
	if e.begun() {
		failures := int(e.past().failures) + 1
		p.fail(e, lost, leaseRanOut, now.ms+store.CrashDelay(e.id, e.attempt(), failures), now)
		return
	}
	past := e.past().and(lost, leaseRanOut, now)
	past.suspicion = max(past.suspicion, store.Suspect)
	p.note(e, past)
	p.schedule(e, now.ms)
}

// fail ends a delivery as a failure: the message becomes due again, or dead if that was its
// last attempt.
func (p *partition) fail(e *entry, how ending, text string, due int64, now instant) store.Code {
	past := e.past().and(how, text, now)
	past.failures++
	past.suspicion = store.Unsuspected
	if how == lost {
		past.suspicion = store.Crashed
	}
	p.note(e, past)
	// A recurring message whose lease ran out is delivered again: its next holder computes
	// the next due time.
	if past.failures >= uint32(e.maxAttempts) && (how != lost || e.repeat() == "") {
		p.count(countDeadLettered)
		p.bury(e, now.ms)
		return store.CodeDead
	}
	p.schedule(e, due)
	return store.CodeOK
}

// and returns the history with one more delivery.
func (h history) and(how ending, text string, now instant) history {
	h.deliveries++
	h.ended = how
	if text == "" {
		return h
	}
	return h.with(text, now)
}

// with returns the history with a text of its last delivery.
func (h history) with(text string, now instant) history {
	h.texts = failurelog.With(h.texts, store.Failure{At: now.ms, Attempt: int(h.deliveries), Text: text})
	return h
}

// handOut gives out messages that are due. Those that are expired or cannot be read do
// not count against r.Max; a claim ends after store.MaxExpired of them, or fewer of the latter.
func (p *partition) handOut(r store.ClaimRequest, now instant) []store.Delivery {
	var deliveries []store.Delivery
	bytes, by := 0, p.holders.number(r.Consumer)
	for useless := 0; len(deliveries) < r.Max && useless < store.MaxExpired; {
		e := p.waiting.reached(now)
		if e == nil {
			break
		}
		if e.expired(now) {
			p.count(countExpired)
			p.finish(e, expired, now)
			useless += p.finishCounts()
			continue
		}
		content, err := p.payload(e)
		if errors.Is(err, errNotRead) {
			break
		}
		if err != nil {
			p.setAside(e, err, now)
			useless += condemnedCounts
			continue
		}
		bytes += len(content)
		if bytes > store.MaxBatchBytes && len(deliveries) > 0 {
			break
		}
		if deliveries == nil {
			deliveries = make([]store.Delivery, 0, min(r.Max, p.waiting.len()))
		}
		deliveries = append(deliveries, e.delivery(content, e.at, now))
		p.handOver(e, r, by, now)
	}
	return deliveries
}

// finishCounts is for how many removals one of an expired message counts.
func (p *partition) finishCounts() int {
	if p.keepsDone() {
		return finishedCounts
	}
	return 1
}

// handOver leases a message to the receiver, or removes it if it is acked on claim. A
// recurring message is leased in any case: removing it would end its other occurrences.
func (p *partition) handOver(e *entry, r store.ClaimRequest, by traits, now instant) {
	p.count(countDelivered)
	if r.AckOnClaim && e.repeat() == "" {
		p.count(countAcked)
		p.finish(e, acked, now)
		return
	}
	p.lease(e, now.after(r.Lease))
	p.hold(e, by)
}

// handOutAgain returns those of the remembered deliveries that are still under way.
func (p *partition) handOutAgain(last []handedOut, now instant) []store.Delivery {
	deliveries := make([]store.Delivery, 0, len(last))
	for _, h := range last {
		e := p.held(h.receipt)
		if e == nil {
			continue
		}
		if content, err := p.payload(e); err == nil {
			deliveries = append(deliveries, e.delivery(content, h.due, now))
		}
	}
	return deliveries
}

// setAside makes a message that cannot be read dead if the log has something else where
// it was, and delays it if the disk reported an error. So it does not block the others.
func (p *partition) setAside(e *entry, err error, now instant) {
	if errors.Is(err, store.ErrCorrupt) {
		p.condemn(e, err, now)
		return
	}
	p.queue.store.care.logger.Warn("a message cannot be read; it will be tried again",
		slog.String("queue", p.queue.name), slog.Int("partition", p.index), slog.String("id", e.id.String()),
		slog.Duration("after", readAgain), slog.Any("error", err))
	p.schedule(e, now.after(readAgain.Milliseconds()))
}

// condemn makes a dead letter of a message whose payload cannot be read. Otherwise it
// would be the first due message of each claim.
func (p *partition) condemn(e *entry, err error, now instant) {
	p.count(countDeadLettered)
	p.note(e, e.past().with(err.Error()[:min(len(err.Error()), condemnedMost)], now))
	p.bury(e, now.ms)
}

// delivery returns the next or current delivery of e. It shares no memory with the
// partition.
func (e *entry) delivery(content payload, due int64, now instant) store.Delivery {
	d := store.Delivery{
		Receipt:     e.receipt(),
		Key:         cloneKey(content),
		Headers:     content.headers(),
		Body:        content.body(math.MaxInt),
		Due:         due,
		MaxAttempts: int(e.maxAttempts),
		Expiry:      e.expiry(),
		Earlier:     int(e.past().earlier),
		Failures:    int(e.past().failures),
		Snoozes:     int(e.past().snoozes),
		Suspicion:   e.past().suspicion,
		Repeat:      e.repeat(),
	}
	if d.Repeat != "" {
		d.Now = now.ms
	}
	return d
}

// wait returns how long it takes until a claim has something to do. While the queue is
// paused, that is only to end leases that run out.
func (p *partition) wait(now instant) time.Duration {
	next := p.leased.firstAt()
	if !p.queue.load().Paused {
		next = min(next, p.waiting.firstAt())
	}
	return now.until(next)
}
