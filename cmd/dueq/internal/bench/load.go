package bench

import (
	"context"
	"time"

	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/rawredis"
)

// Load is the cost of an operation per message.
type Load struct {
	PerS      Figure `json:"per_s"`             // messages
	StoreCPU  Figure `json:"store_cpu_us"`      // of the server
	ClientCPU Figure `json:"client_cpu_us"`     // of this process
	Sent      Figure `json:"commands_sent"`     // by clients
	Executed  Figure `json:"commands_executed"` // including those that scripts call
	In        Figure `json:"bytes_in"`          // received by the server
	Out       Figure `json:"bytes_out"`         // sent by the server
}

// Series is the same load in several rounds: the median of each figure, and all rounds.
type Series struct {
	Load
	Rounds []Load `json:"rounds"`
}

// add adds a round.
func (s *Series) add(l Load) {
	s.Rounds = append(s.Rounds, l)
	s.Load = Load{}
	for i, figure := range s.figures() {
		all := make([]Figure, len(s.Rounds))
		for round := range s.Rounds {
			all[round] = *s.Rounds[round].figures()[i]
		}
		*figure = Figure(measure.Summarize(all).Median)
	}
}

func (l *Load) figures() []*Figure {
	return []*Figure{&l.PerS, &l.StoreCPU, &l.ClientCPU, &l.Sent, &l.Executed, &l.In, &l.Out}
}

// Ratio is the quotient of two figures, round by round.
type Ratio struct {
	Median Figure `json:"median"`
	Min    Figure `json:"min"`
	Max    Figure `json:"max"`
}

func newRatio(rounds int, of func(round int) Figure) *Ratio {
	all := make([]Figure, rounds)
	for i := range all {
		all[i] = of(i)
	}
	s := measure.Summarize(all)
	return &Ratio{Median: Figure(s.Median), Min: Figure(s.Min), Max: Figure(s.Max)}
}

// reading is the usage of this process and the server so far.
type reading struct {
	at     time.Time
	cpu    Figure // us of this process
	server rawredis.Reading
}

// processCPU returns the CPU time that this process has used, in us.
func processCPU() Figure {
	used, err := measure.CPU()
	if err != nil {
		return unknown()
	}
	return Figure(used.Seconds() * 1e6)
}

func (r *run) read(ctx context.Context) (reading, error) {
	var now reading
	if r.Server != nil {
		var err error
		if now.server, err = r.Server.Read(ctx); err != nil {
			return now, err
		}
	}
	now.cpu, now.at = processCPU(), time.Now()
	return now, nil
}

// measure runs work and returns its cost per message.
func (r *run) measure(ctx context.Context, n int, work func() error) (Load, error) {
	if err := r.rest(ctx); err != nil {
		return Load{}, err
	}
	before, err := r.read(ctx)
	if err != nil {
		return Load{}, err
	}
	if err := work(); err != nil {
		return Load{}, err
	}
	took, cpu := time.Since(before.at), processCPU()
	each := func(v float64) Figure { return Figure(v / float64(n)) }
	l := Load{
		PerS: Figure(float64(n) / took.Seconds()), ClientCPU: each(float64(cpu - before.cpu)),
		StoreCPU: unknown(), Sent: unknown(), Executed: unknown(), In: unknown(), Out: unknown(),
	}
	if r.Server == nil {
		return l, ctx.Err()
	}
	after, err := r.Server.Read(ctx)
	if err != nil {
		return Load{}, err
	}
	used := after.Since(before.server)
	l.StoreCPU = each(float64(used.CPU) / float64(time.Microsecond))
	l.Sent, l.Executed = each(float64(used.Sent)), each(float64(used.Executed))
	l.In, l.Out = each(float64(used.In)), each(float64(used.Out))
	return l, ctx.Err()
}
