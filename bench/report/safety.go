package report

import "fmt"

// Faults are the worst that was seen of a queue in a workload, over all rounds.
type Faults struct {
	Lost, Twice, Early float64
	CutShort           float64 // seconds after which the run gave up; 0: it waited long enough
	Measured           bool
}

// Faults of a system in a safety workload or in lateness.
func (r *Result) Faults(system, workload string) Faults {
	lost := r.Stat(system, workload, "lost")
	return Faults{
		Lost:     lost.Max,
		Twice:    r.Stat(system, workload, "twice").Max,
		Early:    r.Stat(system, workload, "early").Max,
		CutShort: r.Stat(system, workload, "cut_short_s").Max,
		Measured: lost.Rounds > 0,
	}
}

// Safety sums up what may be held against a queue: the worst of all workloads.
type Safety struct {
	Lost     float64
	Stranded float64 // not lost, but nobody does them while a dead consumer has no successor
	Twice    float64
	Early    float64
}

// Safety of a system over all workloads. A killed consumer's messages may be done
// twice: without that, they could only be lost. Twice counts when nobody was killed.
func (r *Result) Safety(system string) Safety {
	var s Safety
	for _, w := range []string{"kill", "away", "two", "lateness"} {
		f := r.Faults(system, w)
		s.Lost = max(s.Lost, f.lost())
		s.Early = max(s.Early, f.Early)
		if w != "kill" {
			s.Twice = max(s.Twice, f.Twice)
		}
	}
	survivor := r.Faults(system, "survivor")
	s.Early = max(s.Early, survivor.Early)
	if s.Lost == 0 {
		s.Stranded = survivor.lost()
	}
	return s
}

// lost leaves out what may only have been late.
func (f Faults) lost() float64 {
	if f.CutShort > 0 {
		return 0
	}
	return f.Lost
}

// Safe reports whether nothing is held against it.
func (s Safety) Safe() bool { return s == Safety{} }

// String says the worst thing in few words.
func (s Safety) String() string {
	switch {
	case s.Lost > 0:
		return "loses messages"
	case s.Stranded > 0:
		return "strands messages"
	case s.Twice > 0:
		return "hands out twice"
	case s.Early > 0:
		return "delivers early"
	}
	return ""
}

// cell of a table: "0", or how many were lost.
func (f Faults) cell() string {
	switch {
	case !f.Measured:
		return "-"
	case f.Lost > 0 && f.CutShort > 0:
		return fmt.Sprintf("%s not back in %s s", count(f.Lost), number(f.CutShort))
	case f.Lost > 0:
		return "**" + count(f.Lost) + "**"
	}
	return "0"
}

// repeats is the cell of a table that says how many were handed out twice.
func (f Faults) repeats() string {
	if !f.Measured {
		return "-"
	}
	if f.Twice > 0 {
		return "**" + count(f.Twice) + "**"
	}
	return "0"
}
