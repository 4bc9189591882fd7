package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/socket"
)

// completeTimeout bounds how long a shell waits for names of queues.
const completeTimeout = time.Second

// complete makes shells complete the values of flags in all commands below cmd: names of queues,
// states, the values of choices, and files only where a flag takes one.
func (a *app) complete(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if values := a.valuesOf(cmd, f); values != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, values) // fails only when there is no such flag
		}
	})
	for _, below := range cmd.Commands() {
		a.complete(below)
	}
}

// valuesOf returns what completes a flag; nil if nothing does.
func (a *app) valuesOf(cmd *cobra.Command, f *pflag.Flag) cobra.CompletionFunc {
	if c, ok := f.Value.(*choice); ok {
		return cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp)
	}
	of, _ := pflag.UnquoteUsage(f)
	switch {
	case f.Name == "queue":
		return a.completeQueue
	case f.Name == "state":
		return cobra.FixedCompletions(statesOf(cmd.Name()), cobra.ShellCompDirectiveNoFileComp)
	case of == "file" || f.Name == "file":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return nil
}

// statesOf returns the states that a command takes.
func statesOf(command string) []string {
	var all []string
	for _, s := range (&listFlags{}).states() {
		if s != dueq.Leased || command != "purge" { // leased messages are not purged
			all = append(all, string(s))
		}
	}
	return all
}

// completeQueue returns the names of the store's queues. A failure is silent: a shell shows only
// what completes the line.
func (a *app) completeQueue(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	a.log = slog.DiscardHandler
	var names []cobra.Completion
	_ = withOpened(ctx, a.openToComplete, func(client *dueq.Client) error {
		all, err := client.Stats(ctx)
		for i := range all {
			if strings.HasPrefix(all[i].Queue, begun) {
				names = append(names, all[i].Queue)
			}
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// openToComplete opens the store. A directory is used only through the process that serves it: to
// open it would make it if it is missing, and keep a command that begins meanwhile from it.
func (a *app) openToComplete(ctx context.Context) (*dueq.Client, error) {
	chosen, err := a.chosenURL()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(chosen, "file:") {
		if chosen = socket.URL(ctx, chosen); chosen == "" {
			return nil, dueq.ErrUnavailable
		}
	}
	return a.openURL(ctx, chosen)
}
