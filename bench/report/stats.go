package report

import "github.com/dueq-dev/dueq/internal/measure"

// Stat returns a value of a workload on a system over all rounds.
func (r *Result) Stat(system, workload, value string) measure.Stat {
	var found []float64
	for _, s := range r.Samples {
		if v, ok := s.Values[value]; ok && s.System == system && s.Workload == workload && s.Error == "" {
			found = append(found, v)
		}
	}
	return measure.Summarize(found)
}

// gap returns why a system has no value: "" if that is not known.
func (r *Result) gap(system, workload string) (excuse, err string) {
	for _, s := range r.Samples {
		if s.System == system && s.Workload == workload && (s.Excuse != "" || s.Error != "") {
			return s.Excuse, s.Error
		}
	}
	return "", ""
}
