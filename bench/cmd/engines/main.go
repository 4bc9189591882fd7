// Command engines measures embedded stores beside each other and prints a table.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/dueq-dev/dueq/bench/engine"
	"github.com/dueq-dev/dueq/bench/host"
	"github.com/dueq-dev/dueq/bench/report"
)

// result is what is kept in bench/results.
type result struct {
	Command  string            `json:"command"`
	Date     time.Time         `json:"date"`
	Machine  host.Machine      `json:"machine"`
	Versions map[string]string `json:"versions"`
	Rows     []row             `json:"rows"`
}

// row is one workload on one engine: messages a second, in each round.
type row struct {
	Engine   string    `json:"engine"`
	Workload string    `json:"workload"`
	PerS     []float64 `json:"per_s"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		os.Exit(1)
	}
}

func run() error {
	rounds := flag.Int("rounds", 5, "how often everything is measured")
	scale := flag.Float64("scale", 1, "of the number of messages; less than 1 for a smoke run")
	dir := flag.String("dir", ".", "directory on the disk to measure")
	out := flag.String("out", "", "file for the result as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	r := result{Command: fmt.Sprintf("engines -rounds %d -scale %g", *rounds, *scale), Date: time.Now().UTC(), Machine: host.ReadMachine(), Versions: host.Versions(".")}
	if err := r.measure(ctx, *dir, *rounds, *scale); err != nil {
		return err
	}
	r.table(os.Stdout)
	if *out == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(*out, append(b, '\n'), 0o644) //nolint:gosec // for everybody to read
}

// measure interleaves the engines, so that a slow minute of the machine hits all.
func (r *result) measure(ctx context.Context, dir string, rounds int, scale float64) error {
	for _, o := range engine.All() {
		for _, w := range engine.Workloads() {
			r.Rows = append(r.Rows, row{Engine: o.Name, Workload: w.Name})
		}
	}
	for round := range rounds {
		i := 0
		for _, o := range engine.All() {
			for _, w := range engine.Workloads() {
				perS, err := w.Run(ctx, o, dir, scale)
				if err != nil {
					return err
				}
				r.Rows[i].PerS = append(r.Rows[i].PerS, perS)
				fmt.Fprintf(os.Stderr, "round %d: %s: %s: %.0f/s\n", round+1, o.Name, w.Name, perS)
				i++
			}
		}
	}
	return nil
}

// table prints Markdown: medians, with min and max.
func (r *result) table(out io.Writer) {
	fmt.Fprint(out, "| messages/s, median (min - max) |")
	for _, w := range engine.Workloads() {
		fmt.Fprintf(out, " %s |", w.Name)
	}
	fmt.Fprint(out, "\n|---|")
	for range engine.Workloads() {
		fmt.Fprint(out, "---:|")
	}
	for i, row := range r.Rows {
		if i%len(engine.Workloads()) == 0 {
			fmt.Fprintf(out, "\n| %s |", row.Engine)
		}
		s := report.NewStat(row.PerS)
		fmt.Fprintf(out, " %.0f (%.0f - %.0f) |", s.Median, s.Min, s.Max)
	}
	fmt.Fprintln(out)
}
