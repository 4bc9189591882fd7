package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dueq-dev/dueq"
)

// Config of a show. All fields are needed.
type Config struct {
	Length time.Duration // of the whole replay
	Screen func(View)    // shows what happens; called from one goroutine
}

// lead is the time from the sending of all flights to the first departure.
const lead = 300 * time.Millisecond

// slack is how long after the last departure the show waits for missing flights.
const slack = 8 * time.Second

// show is one run.
type show struct {
	Config
	queue   *dueq.Queue
	flights []*flight
	byKey   map[string]*flight
	first   time.Time // departure of the first flight, as in the schedule
	span    time.Duration
	tally   *tally
}

// Run replays the flights on a queue that should be empty, and empties it afterwards. It returns
// the result, and an error if the show could not be run to its end or a guarantee was broken for
// which the result has no figure.
func Run(ctx context.Context, q *dueq.Queue, c Config) (Result, error) {
	flights, err := loadFlights()
	if err != nil {
		return Result{}, err
	}
	s := newShow(q, flights, c)
	err = s.play(ctx)
	if err == nil {
		err = s.audit(ctx)
	}
	if emptied := s.cleanUp(ctx); err == nil {
		err = emptied // after another error it most likely says the same
	}
	return s.tally.result(), err
}

func newShow(q *dueq.Queue, flights []*flight, c Config) *show {
	first, last := flights[0].message.Due, flights[len(flights)-1].message.Due
	s := &show{
		Config: c, queue: q, flights: flights, byKey: map[string]*flight{},
		first: first, span: last.Sub(first), tally: newTally(flights),
	}
	for _, f := range flights {
		s.byKey[f.message.Key] = f
	}
	return s
}

// play sends all flights, lets the gates handle them and the tower interfere, and
// returns when every flight has ended or the time is up.
func (s *show) play(ctx context.Context) error {
	if err := s.send(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lead+s.Length+slack)
	defer cancel()
	working, stop := context.WithCancel(ctx)
	defer stop()
	start := time.Now()
	var running sync.WaitGroup
	failed := make(chan error, len(gates)+1)
	for _, gate := range gates {
		running.Go(func() { report(failed, s.gate(working, gate)) })
	}
	running.Go(func() { report(failed, s.tower(working)) })
	running.Go(func() { s.watch(working, start) })
	var err error
	select {
	case <-s.tally.finished:
	case err = <-failed:
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = ctx.Err() // after the deadline the figures show the missing flights
		}
	}
	stop()
	running.Wait()
	s.Screen(s.view(start))
	return err
}

func report(failed chan<- error, err error) {
	if err != nil {
		failed <- err
	}
}

// offset returns how long after the sending the flight is due.
func (s *show) offset(f *flight) time.Duration {
	share := float64(f.message.Due.Sub(s.first)) / float64(s.span)
	return lead + time.Duration(share*float64(s.Length))
}

// clock returns the time of the schedule when the show has run for so long.
func (s *show) clock(elapsed time.Duration) time.Time {
	share := float64(elapsed-lead) / float64(s.Length)
	return s.first.Add(time.Duration(max(share, 0) * float64(s.span)))
}

func (s *show) send(ctx context.Context) error {
	messages := make([]dueq.Message, len(s.flights))
	start := time.Now()
	for i, f := range s.flights {
		messages[i] = dueq.Message{Key: f.message.Key, Body: f.message.Body, Delay: s.offset(f)}
		if f.course == failsAlways {
			messages[i].MaxAttempts = attemptsOfTheHopeless
		}
		s.tally.plan(f, start.Add(messages[i].Delay))
	}
	results, err := s.queue.SendBatch(ctx, messages)
	if err != nil {
		return err
	}
	for i, r := range results {
		if r.Err != nil {
			return fmt.Errorf("send flight %s: %w", s.flights[i].message.Key, r.Err)
		}
	}
	s.tally.sent(len(results))
	return nil
}

// gates are the consumers. They could also run in separate processes.
var gates = [...]string{"A", "B", "C"}

// gate consumes until ctx ends.
func (s *show) gate(ctx context.Context, name string) error {
	return s.queue.Consume(ctx, func(_ context.Context, d *dueq.Delivery) error {
		started := time.Now()
		f := s.byKey[d.Key]
		if f == nil {
			return dueq.Reject(fmt.Errorf("key %q is no flight", d.Key))
		}
		err := f.work(d.Failures, s.pause())
		s.tally.delivered(f, name, d, started, err)
		return err
	}, dueq.ConsumeOptions{Concurrency: 4, Name: "gate-" + name})
}

// pause is how long a flight waits after a failure.
func (s *show) pause() time.Duration { return s.Length / 40 }

// watch keeps the screen up to date until ctx ends.
func (s *show) watch(ctx context.Context, start time.Time) {
	const every = 100 * time.Millisecond
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		s.Screen(s.view(start))
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// view returns the view of a show that began at start.
func (s *show) view(start time.Time) View {
	elapsed := time.Since(start)
	return s.tally.view(s.clock(elapsed), float64(elapsed)/float64(lead+s.Length))
}
