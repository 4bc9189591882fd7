package dueq

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// Problem is one thing that [Queue.Check] found wrong.
type Problem struct {
	ID   string // what it concerns, such as the id of a message; "" for a whole partition or queue
	Text string
}

// Report is what [Queue.Check] found.
type Report struct {
	Examined int       // elements looked at: messages, leases, keys
	Problems []Problem // none: all is well
}

// Check audits the whole queue in bounded steps, while it is in use: every message is
// in exactly one state, nothing points nowhere, the counters add up. It changes
// nothing. Costs a read of every message. Errors: [ErrNotFound] for an unknown queue;
// with any error the report covers what was looked at before.
func (q *Queue) Check(ctx context.Context) (Report, error) {
	if err := q.guard(ctx); err != nil {
		return Report{}, fail("check", q.name, "", err)
	}
	s, err := q.read(ctx)
	if err != nil {
		return Report{}, fail("check", q.name, "", err)
	}
	var report Report
	for index := range s.Partitions {
		if err := q.checkPartition(ctx, q.partition(index), &report); err != nil {
			return report, fail("check", q.name, "", err)
		}
	}
	return report, nil
}

func (q *Queue) checkPartition(ctx context.Context, p store.Partition, report *Report) error {
	cursor := ""
	for {
		found, err := q.client.store.Check(ctx, p, store.CheckRequest{Cursor: cursor, Limit: store.MaxListLimit})
		if err != nil {
			return err
		}
		report.Examined += found.Examined
		report.Problems = append(report.Problems, toProblems(found.Problems)...)
		if cursor = found.Next; cursor == "" {
			return nil
		}
	}
}
