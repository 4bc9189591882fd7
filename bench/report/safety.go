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

// Safety has the worst faults of a queue over all workloads.
type Safety struct {
	Lost     float64
	Stranded float64 // not lost, but not delivered until the dead consumer is replaced
	Twice    float64
	Early    float64
}

// Safety of a system over all workloads. Messages of a killed consumer may be handled twice, because
// otherwise they could only be lost. Twice counts only workloads without a kill.
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

// lost leaves out messages that may only have been late.
func (f Faults) lost() float64 {
	if f.CutShort > 0 {
		return 0
	}
	return f.Lost
}

// Safe reports whether no fault was seen.
func (s Safety) Safe() bool { return s == Safety{} }

// String describes the worst fault in few words.
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
