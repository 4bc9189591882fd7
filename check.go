package dueq

import (
	"context"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
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

// Damage is a part of a directory that cannot be read.
type Damage struct {
	File   string // in the directory, or a partition whose messages and counters disagree
	Offset int    // bytes
	Bytes  int    // 0: the whole file
	Reason string
}

// Inspect lists everything that is damaged in the directory of a file: URL, and changes
// nothing. It is for a store that [Open] refuses with [ErrCorrupt]: what it lists is what
// opening with repair=true skips. Nobody may have the directory open, and it takes as long
// as opening it.
//
// Errors: [ErrInvalid] for the URL; [ErrUnavailable] when the directory cannot be read, is in
// use, or was written by a newer version of dueq.
func Inspect(ctx context.Context, url string) ([]Damage, error) {
	damage, err := inspect(ctx, url)
	if err != nil {
		return nil, fail("inspect", "", "", err)
	}
	return damage, nil
}

func inspect(ctx context.Context, text string) ([]Damage, error) {
	dir, _, err := embedded.ParseURL(text, embedded.Config{})
	if err != nil {
		return nil, err
	}
	found, err := embedded.Inspect(ctx, dir)
	damage := make([]Damage, len(found))
	for i, f := range found {
		damage[i] = Damage(f)
	}
	return damage, err
}
