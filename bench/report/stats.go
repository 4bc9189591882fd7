package report

import "slices"

// Stat is a value over all rounds.
type Stat struct {
	Median, Min, Max float64
	Rounds           int // that have the value; 0: there is none
}

// NewStat summarises values. With an even number of them the median is the mean of the
// two in the middle.
func NewStat(values []float64) Stat {
	n := len(values)
	if n == 0 {
		return Stat{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Stat{
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2,
		Min:    sorted[0], Max: sorted[n-1], Rounds: n,
	}
}

// Stat returns a value of a workload on a system over all rounds.
func (r *Result) Stat(system, workload, value string) Stat {
	var found []float64
	for _, s := range r.Samples {
		if v, ok := s.Values[value]; ok && s.System == system && s.Workload == workload && s.Error == "" {
			found = append(found, v)
		}
	}
	return NewStat(found)
}

// gap says why a system has no value: "" if nothing is known.
func (r *Result) gap(system, workload string) (excuse, err string) {
	for _, s := range r.Samples {
		if s.System == system && s.Workload == workload && (s.Excuse != "" || s.Error != "") {
			return s.Excuse, s.Error
		}
	}
	return "", ""
}
