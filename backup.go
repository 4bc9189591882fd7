package dueq

import (
	"context"
	"fmt"
)

// backuper is a store that can be copied while it is in use.
type backuper interface {
	Backup(ctx context.Context, dir string) error
}

// Backup makes a copy of a store that was opened with file:DIR, in a directory that must
// not exist yet, while the store is in use. The copy has every message whose send returned
// before Backup began, in the state it had then or a later one, and can be opened as
// file:DIR. It is complete and on disk when Backup returns, and has its name only then.
//
// On the same file system the two share all but the newest files (hard links), so a backup
// takes moments and next to no space; a copy that is to survive the disk has to be taken
// elsewhere from there. Calls go on meanwhile; space is not given back to the disk before
// Backup returns.
//
// Errors: [ErrInvalid] when the store is not one of files, or the directory exists;
// [ErrUnavailable] when something cannot be read or written; [ErrClosed]; ctx's.
func (c *Client) Backup(ctx context.Context, dir string) error {
	if err := c.guard(ctx); err != nil {
		return fail("backup", "", "", err)
	}
	ctx, leave, err := c.enter(ctx)
	if err != nil {
		return fail("backup", "", "", err)
	}
	defer leave()
	s, ok := c.store.(backuper)
	if !ok {
		return fail("backup", "", "", fmt.Errorf("only a store of files (file:DIR) can be backed up; for Redis use its own snapshots: %w", ErrInvalid))
	}
	err = s.Backup(ctx, dir)
	if err != nil && c.open.Err() != nil {
		err = ErrClosed
	}
	return fail("backup", "", "", err)
}
