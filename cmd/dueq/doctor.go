package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// finding is one line of the report.
type finding struct {
	Check  string            `json:"check"`
	Server string            `json:"server,omitempty"`
	Level  dueq.FindingLevel `json:"level"`
	Found  string            `json:"found"`
	Fix    string            `json:"fix,omitempty"`
}

type doctorReport []finding

func (r doctorReport) text() string {
	var b strings.Builder
	for _, f := range r {
		where := f.Check
		if f.Server != "" {
			where += " of " + f.Server
		}
		_, _ = fmt.Fprintf(&b, "%-5s %s\n", strings.ToUpper(string(f.Level)), term.Escape(where+": "+f.Found))
		if f.Fix != "" {
			_, _ = fmt.Fprintf(&b, "      fix: %s\n", term.Escape(f.Fix))
		}
	}
	return b.String()
}

// failed returns how many checks have failed.
func (r doctorReport) failed() (n int) {
	for _, f := range r {
		if f.Level == dueq.FindingFail {
			n++
		}
	}
	return n
}

func newDoctor(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that a store is fit for dueq, and what to change",
		Long: `Check a store: of a Redis the version, the role, eviction, persistence and the memory that is
left, of a Cluster also the slots; for every store how long a call takes, and each operation of
dueq once, on a queue dueq-doctor-... that is made for this and removed again. So a permission
that is missing in an ACL is found, too. Other queues are neither read nor changed.

The exit code is 1 if a check has failed. Warnings leave it at 0.`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		log := &warnings{}
		a.log = log
		client, err := a.open(ctx)
		if err != nil {
			return err
		}
		r, err := examine(ctx, client, log)
		if err = errors.Join(err, client.Close()); err != nil {
			return err
		}
		if err := a.print(r); err != nil {
			return err
		}
		if n := r.failed(); n > 0 {
			return fmt.Errorf("doctor: failed checks: %d", n)
		}
		return nil
	})
	return cmd
}

// examine makes all checks.
func examine(ctx context.Context, client *dueq.Client, log *warnings) (doctorReport, error) {
	found, err := client.Diagnose(ctx)
	if err != nil {
		return nil, err
	}
	r := make(doctorReport, 0, len(found)+2)
	for _, f := range found {
		r = append(r, finding(f))
	}
	latency, err := measureLatency(ctx, client)
	if err != nil {
		return nil, err
	}
	r = append(r, latency)
	log.forget() // what was logged until here are the findings
	operations := runCanary(ctx, client)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return append(append(r, operations...), log.findings()...), nil
}

const (
	roundTrips   = 21
	slowTrip     = 20 * time.Millisecond
	hopelessTrip = time.Second
)

// measureLatency returns how long the simplest call takes.
func measureLatency(ctx context.Context, client *dueq.Client) (finding, error) {
	trips := make([]time.Duration, roundTrips)
	for i := range trips {
		began := time.Now()
		if _, err := client.Queue("dueq-doctor").Settings(ctx); err != nil && !errors.Is(err, dueq.ErrNotFound) {
			return finding{}, err
		}
		trips[i] = time.Since(began)
	}
	slices.Sort(trips)
	return ofLatency(trips[roundTrips/2], trips[roundTrips-1]), nil
}

func ofLatency(median, most time.Duration) finding {
	f := finding{Check: "latency", Level: dueq.FindingOK, Found: fmt.Sprintf("a call takes %s, at most %s", median.Round(time.Microsecond), most.Round(time.Microsecond))}
	const fix = "run programs near the store, and see what keeps it busy: each message is late by a few calls"
	switch {
	case median > hopelessTrip:
		f.Level, f.Fix = dueq.FindingFail, fix
	case median > slowTrip:
		f.Level, f.Fix = dueq.FindingWarn, fix
	}
	return f
}
