package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
left, of a Cluster also the slots and the size of partitions; of a directory how it is written and whether there is space; of a
server what it says about its store; for every store how long a call takes, and each operation of dueq once, on a queue dueq-doctor-... that is made for this and removed again. So a permission
that is missing in an ACL is found, too. Messages of other queues are neither read nor changed.

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
	d, err := client.Describe(ctx)
	if err != nil {
		return nil, err
	}
	r := make(doctorReport, 0, len(d.Findings)+1)
	for _, f := range d.Findings {
		r = append(r, finding(f))
	}
	log.forget() // what was logged until here are the findings
	operations := runCanary(ctx, client)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return append(append(r, operations...), log.findings()...), nil
}
