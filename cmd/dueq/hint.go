package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dueq-dev/dueq"
)

// meantFlag adds to the error of an unknown flag the one that was probably meant.
func meantFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w: did you mean --%s?", err, near)
	}
	return err
}

// meantCommand adds to the error of an unknown command the one that was probably meant.
func meantCommand(parent *cobra.Command, err error) error {
	_, rest, found := strings.Cut(err.Error(), `unknown command "`) // cobra has no type for it
	word, _, _ := strings.Cut(rest, `"`)
	names := make([]string, 0, len(parent.Commands()))
	for _, cmd := range parent.Commands() {
		names = append(names, cmd.Name())
	}
	if near := nearest(word, names); found && near != "" {
		return fmt.Errorf("%w: did you mean %s?", err, near)
	}
	return err
}

// meantQueue adds to the error of a queue that does not exist the name of one that does and was
// probably meant.
func (a *app) meantQueue(ctx context.Context, client *dueq.Client, err error) error {
	if a.queue == nil || !errors.Is(err, dueq.ErrNotFound) || ctx.Err() != nil {
		return err
	}
	all, failed := client.Stats(ctx)
	if failed != nil { // the first error is the one that matters
		return err
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Queue
	}
	name := a.queue.Value.String()
	if near := nearest(name, names); near != "" && !slices.Contains(names, name) {
		return fmt.Errorf("%w (did you mean %s?)", err, near)
	}
	return err
}

// nearest returns the name that differs least from a mistyped one; "" if none is near.
func nearest(word string, names []string) string {
	const most = 64 // bytes, which bounds the work
	if len(word) > most {
		return ""
	}
	best, least := "", max(1, min(len(word)/3, 3))+1
	for _, name := range names {
		if d := distance(word, name); d < least && len(name) <= most {
			best, least = name, d
		}
	}
	return best
}

// distance returns how many bytes must be inserted, removed, replaced or swapped with the next to
// make b of a.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
