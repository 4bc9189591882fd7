package bench

import (
	"context"
	"slices"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
)

// side is a subject with its results.
type side struct {
	subject
	sent, drained Series
	strain        strain // of the server while it was drained
}

// sides returns dueq and, if there is a server for it, the floor.
func (r *run) sides(q *dueq.Queue, name string) []*side {
	both := []*side{{subject: library{q, r.body, r.Concurrency}, strain: strain{server: r.Server}}}
	if r.Server != nil {
		both = append(both, &side{subject: minimal{r.Server.Floor(name), r.body}, strain: strain{server: r.Server}})
	}
	return both
}

// load measures the life of a message, batched: in every round messages are sent that
// all become due in the same millisecond, and are drained once they are due.
func (r *run) load(ctx context.Context, q *dueq.Queue) error {
	sides := r.sides(q, "load")
	r.Progress("load the backlog", 0, r.Rounds)
	for _, s := range sides {
		if err := s.send(ctx, r.Backlog, r.now().Add(24*time.Hour)); err != nil {
			return err
		}
	}
	r.Progress("warm up", 0, r.Rounds)
	if err := r.round(ctx, sides, 0, max(1, r.Messages/10)); err != nil {
		return err
	}
	for _, s := range sides {
		s.sent, s.drained, s.strain = Series{}, Series{}, strain{server: r.Server}
	}
	for i := range r.Rounds {
		r.Progress("send and drain", i, r.Rounds)
		if err := r.round(ctx, sides, i, r.Messages); err != nil {
			return err
		}
	}
	r.report.life(r.Mode, sides)
	return nil
}

// round sends and drains n messages on every side. Which one is first changes from round to
// round.
func (r *run) round(ctx context.Context, sides []*side, number, n int) error {
	due := r.now().Add(200*time.Millisecond + time.Duration(len(sides)*n)*10*time.Microsecond) // 100,000 a second are sent by then
	for _, s := range measure.Rotate(number, sides) {
		l, err := r.measure(ctx, n, func() error { return s.send(ctx, n, due) })
		if err != nil {
			return err
		}
		s.sent.add(l)
	}
	if err := sleep(ctx, due.Sub(r.now())+10*time.Millisecond); err != nil {
		return err
	}
	for _, s := range measure.Rotate(number, sides) {
		l, err := r.measure(ctx, n, func() error { return s.strain.during(ctx, func() error { return s.drain(ctx, n) }) })
		if err != nil {
			return err
		}
		s.drained.add(l)
	}
	return nil
}

// perProducer is the maximum number of messages that one goroutine sends one by one in a round:
// it waits for each, so more would only take longer.
const perProducer = 5000

// single measures Send from some goroutines, and the floor called in the same way.
func (r *run) single(ctx context.Context, q *dueq.Queue) error {
	sides := r.sides(q, "single")
	r.report.Single = make([]Single, len(r.Producers))
	floors := make([]Series, len(r.Producers))
	due := r.now().Add(24 * time.Hour)
	r.Progress("warm up", 0, r.Rounds)
	for _, s := range sides { // also dials the connections
		if err := s.single(ctx, r.Messages, slices.Max(r.Producers), due); err != nil {
			return err
		}
	}
	for round := range r.Rounds {
		for p, producers := range r.Producers {
			r.Progress("send one by one", round*len(r.Producers)+p, r.Rounds*len(r.Producers))
			into := []*Series{&r.report.Single[p].Series, &floors[p]}
			for i, s := range measure.Rotate(round, sides) {
				n := min(r.Messages, producers*perProducer)
				l, err := r.measure(ctx, n, func() error { return s.single(ctx, n, producers, due) })
				if err != nil {
					return err
				}
				into[i].add(l)
			}
		}
	}
	for p := range r.report.Single {
		r.report.Single[p].complete(r.Producers[p], floors[p])
	}
	return nil
}
