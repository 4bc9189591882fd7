package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/dueq-dev/dueq/bench/report"
)

// rewrite writes the page and the plots of earlier results.
func rewrite(args []string) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	in := flags.String("in", "", "file of the results")
	page := flags.String("page", "../docs/COMPARISON.md", "the page to write")
	images := flags.String("images", "../docs/images", "directory for the plots")
	readme := flags.String("readme", "../README.md", "the file with the short table, not written of a smoke run; none if empty")
	quick := flags.Bool("quick", false, "also for a smoke run, whose figures mean nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *in == "" {
		return errors.New("-in is missing: the file of the results")
	}
	r, err := report.Load(*in)
	if err != nil {
		return err
	}
	if r.Quick && !*quick {
		return fmt.Errorf("%s is of a smoke run: its page is written only with -quick", *in)
	}
	if r.Quick {
		*readme = ""
	}
	return report.Write(r, *page, *images, *readme)
}
