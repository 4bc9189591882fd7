package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

type queueReport struct {
	Queue    string    `json:"queue"`
	Examined int       `json:"examined"`
	Problems []problem `json:"problems"`
}

type problem struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// line returns the problem, after the id of the message that it is about, if any.
func (p problem) line() string {
	if p.ID == "" {
		return p.Text
	}
	return p.ID + ": " + p.Text
}

type checkResult []queueReport

func (r checkResult) text() string {
	var b strings.Builder
	for _, q := range r {
		verdict := "ok"
		if n := len(q.Problems); n > 0 {
			verdict = fmt.Sprintf("%d problems", n)
		}
		_, _ = fmt.Fprintf(&b, "%s: %s, %d examined\n", term.Escape(q.Queue), verdict, q.Examined)
		for _, p := range q.Problems {
			_, _ = fmt.Fprintf(&b, "  %s\n", term.Escape(p.line()))
		}
	}
	return b.String()
}

func newCheck(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [--queue NAME] [--repair]",
		Short: "Audit what the store holds",
		Long: `Audit every queue, or one: each message is in exactly one state, every index entry has
its message, and the counters add up. It works in small steps, changes nothing, and can run
while the queue is in use. The exit code is 1 if there is any problem.

A directory (--store file:DIR) that is damaged cannot be opened: check lists the damage
and changes nothing. With --repair the directory is opened: what cannot be read is
skipped and reported, file by file, and everything else is written again. Damaged files
are kept beside it as *.damaged.`,
		Args: cobra.NoArgs,
	}
	queue := cmd.Flags().StringP("queue", "q", "", "name of the queue (default: every queue)")
	repair := cmd.Flags().Bool("repair", false, "skip what is damaged in a store of files, and report it")
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		open := a.open
		if *repair {
			open = a.openRepaired
		}
		client, err := open(ctx)
		if errors.Is(err, dueq.ErrCorrupt) && !*repair {
			return a.listDamage(ctx)
		}
		if err != nil {
			return err
		}
		return errors.Join(a.check(ctx, client, *queue, cmd.Flags().Changed("queue")), client.Close())
	})
	return cmd
}

// openRepaired is open for a directory that is damaged.
func (a *app) openRepaired(ctx context.Context) (*dueq.Client, error) {
	chosen, err := a.chosenURL()
	if err == nil {
		chosen, err = repairing(chosen)
	}
	if err != nil {
		return nil, err
	}
	return a.openURL(ctx, chosen)
}

// repairing returns the URL that opens the store of url even if it is damaged.
func repairing(url string) (string, error) {
	if !strings.HasPrefix(url, "file:") {
		return "", usage("--repair is for stores of files: want --store file:DIR")
	}
	return withOption(url, "repair=true"), nil
}

type damageReport []damagedPart

type damagedPart struct {
	File   string `json:"file"`
	Offset int    `json:"offset"`
	Bytes  int    `json:"bytes"`
	Reason string `json:"reason"`
}

func (r damageReport) text() string {
	var b strings.Builder
	for _, d := range r {
		size := "whole file"
		if d.Bytes > 0 {
			size = fmt.Sprintf("offset %d, %d bytes", d.Offset, d.Bytes)
		}
		_, _ = fmt.Fprintf(&b, "%s: %s: %s\n", term.Escape(d.File), size, term.Escape(d.Reason))
	}
	return b.String()
}

// listDamage prints the damage in the directory of the store.
func (a *app) listDamage(ctx context.Context) error {
	damage, err := dueq.Inspect(ctx, cmp.Or(a.storeURL(), a.defaultStore()))
	if err != nil {
		return err
	}
	report := make(damageReport, len(damage))
	for i, d := range damage {
		report[i] = damagedPart(d)
	}
	if err := a.print(report); err != nil {
		return err
	}
	return fmt.Errorf("check: damaged parts: %d; nothing was changed; --repair skips them and keeps the rest: %w", len(damage), dueq.ErrCorrupt)
}

func (a *app) check(ctx context.Context, client *dueq.Client, queue string, one bool) error {
	names := []string{queue}
	if !one {
		all, err := client.Stats(ctx)
		if err != nil {
			return err
		}
		names = names[:0]
		for i := range all {
			names = append(names, all[i].Queue)
		}
	}
	problems, r := 0, make(checkResult, 0, len(names))
	for _, name := range names {
		found, err := client.Queue(name).Check(ctx)
		if err != nil {
			return err
		}
		r = append(r, newQueueReport(name, found))
		problems += len(found.Problems)
	}
	if err := a.print(r); err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("check: found %d problems", problems)
	}
	return nil
}

func newQueueReport(name string, found dueq.Report) queueReport {
	r := queueReport{Queue: name, Examined: found.Examined, Problems: make([]problem, len(found.Problems))}
	for i, p := range found.Problems {
		r.Problems[i] = problem(p)
	}
	return r
}
