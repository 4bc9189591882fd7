package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

type backupResult struct {
	Directory string `json:"directory"`
}

func (r backupResult) text() string { return "backed up to " + term.Escape(r.Directory) + "\n" }

func newBackup(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy a store of files to a new directory",
		Long: `Copy a store of files (--store file:DIR) to a directory that does not exist yet. The
copy is a store: open it with --store file:COPY, or move it to where the store was. It
shares files with the store where the file system allows that, so it takes almost no
space; copy it to another disk to have it when this one fails.

This works while no other process has the store open. An application that has it open
makes the backup itself, without stopping: Client.Backup of the Go API.`,
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		Args:              cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, args []string) error {
			if url := a.storeURL(); url != "" && !strings.HasPrefix(url, "file:") {
				return usage("only stores of files can be backed up: want --store file:DIR")
			}
			client, err := a.openItself(ctx)
			if inUse(err) {
				return fmt.Errorf("%w: let that process make the backup, with Client.Backup of the Go API", err)
			}
			if err != nil {
				return err
			}
			if err := errors.Join(client.Backup(ctx, args[0]), client.Close()); err != nil {
				return err
			}
			return a.print(backupResult{args[0]})
		}),
	}
}
