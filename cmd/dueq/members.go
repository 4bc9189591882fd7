package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// member is one consumer. Scripts rely on these names.
type member struct {
	Name   string `json:"name"`
	Client string `json:"client"`
	OnDuty []int  `json:"on_duty"`
	Trial  bool   `json:"trial"`
}

type membersResult []member

func (r membersResult) text() string {
	rows := make([][]string, len(r))
	for i, m := range r {
		partitions := make([]string, len(m.OnDuty))
		for j, p := range m.OnDuty {
			partitions[j] = strconv.Itoa(p)
		}
		duties := strings.Join(partitions, " ")
		if m.Trial {
			duties = "no duties"
		}
		rows[i] = []string{m.Name, m.Client, duties}
	}
	return term.Table([]string{"NAME", "CLIENT", "ON DUTY FOR"}, rows)
}

func newMembers(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "members --queue NAME",
		Short: "Show the live consumers of a queue",
		Long: `Show the live consumers of a queue, and for which partitions each is on duty: it claims
their messages when they become due. A consumer gets duties 15 s after its start, or none if it is
pinned to partitions. It is shown for up to 15 s after its process has died.`,
		Args: cobra.NoArgs,
	}
	queue := queueFlag(cmd)
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		return a.withClient(ctx, func(client *dueq.Client) error {
			all, err := client.Queue(*queue).Members(ctx)
			if err != nil {
				return err
			}
			r := make(membersResult, len(all))
			for i, m := range all {
				r[i] = member{Name: m.Name, Client: m.Client, OnDuty: append([]int{}, m.OnDuty...), Trial: m.Trial}
			}
			return a.print(r)
		})
	})
	return cmd
}
