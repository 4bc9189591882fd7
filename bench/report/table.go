package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Table writes a Markdown table of one value, under a title: a row for each system and a column for each
// workload, both in the order of the first round.
func (r *Result) Table(w io.Writer, title, value string) error {
	var systems, workloads []string
	for _, s := range r.Samples {
		if s.Round == 1 && !slices.Contains(systems, s.System) {
			systems = append(systems, s.System)
		}
		if s.Round == 1 && !slices.Contains(workloads, s.Workload) {
			workloads = append(workloads, s.Workload)
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "| %s, median (min - max) | %s |\n|---%s|\n", title, strings.Join(workloads, " | "), strings.Repeat("|---:", len(workloads)))
	for _, system := range systems {
		text.WriteString("| " + system + " |")
		for _, workload := range workloads {
			s := r.Stat(system, workload, value)
			fmt.Fprintf(&text, " %s (%s - %s) |", count(s.Median), count(s.Min), count(s.Max))
		}
		text.WriteString("\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
