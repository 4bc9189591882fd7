// Command engines measures embedded stores beside each other and prints a table.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/dueq-dev/dueq/bench/engine"
	"github.com/dueq-dev/dueq/bench/host"
	"github.com/dueq-dev/dueq/bench/report"
	"github.com/dueq-dev/dueq/bench/workload"
	"github.com/dueq-dev/dueq/internal/measure"
)

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
	in := flag.String("in", "", "file of an earlier result, whose table is printed; nothing is measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	if *in != "" {
		r, err := report.Load(*in)
		if err != nil {
			return err
		}
		return r.Table(os.Stdout, "messages/s", "per_s")
	}
	r := &report.Result{
		Command: fmt.Sprintf("engines -rounds %d -scale %g", *rounds, *scale), Date: time.Now().UTC().Truncate(time.Second),
		Quick: *scale < 1, Rounds: *rounds, Machine: host.ReadMachine(), Versions: host.Versions("."),
	}
	if err := measureAll(ctx, r, *dir, *scale); err != nil {
		return err
	}
	r.Finished = true
	if *out != "" {
		if err := r.Save(*out); err != nil {
			return err
		}
	}
	return r.Table(os.Stdout, "messages/s", "per_s")
}

// measureAll runs every workload on every engine, in all rounds.
func measureAll(ctx context.Context, r *report.Result, dir string, scale float64) error {
	for round := range r.Rounds {
		for _, w := range engine.Workloads() {
			for _, o := range measure.Rotate(round, engine.All()) {
				start := time.Now()
				perS, err := w.Run(ctx, o, dir, scale)
				if err != nil {
					return err
				}
				fmt.Fprintf(os.Stderr, "round %d: %s: %s: %.0f/s\n", round+1, o.Name, w.Name, perS)
				r.Samples = append(r.Samples, report.Sample{
					Round: round + 1, Workload: w.Name, System: o.Name,
					Values: workload.Values{"per_s": perS}, Seconds: time.Since(start).Seconds(),
				})
			}
		}
	}
	return nil
}
