package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// partSuffix is that of a backup that is not complete.
const partSuffix = ".partial"

// copyStep is how many bytes are copied before a backup looks whether it should end.
const copyStep = 1 << 20

// Backup makes a copy of the store in a directory that must not exist, while the store is
// in use. The copy has everything that was acknowledged before the call, perhaps more, and
// is a store that can be opened. It shares files with this store, as hard links, where the
// file system can do that: all but the last segment, because no other is written to again.
// Otherwise it copies them, and no space is given back to the disk meanwhile.
//
// The directory gets its name when the copy is complete and on disk; until then, and after
// a failure that kept it from being removed, it is called the same with ".partial".
//
// Errors: store.ErrInvalid when the store is not on disk or dir exists;
// store.ErrUnavailable when it cannot be read or written; ctx's.
func (s *Store) Backup(ctx context.Context, dir string) error {
	if s.path == "" {
		return &store.Error{Field: "store", Err: fmt.Errorf("is not in a directory, only such can be backed up: %w", store.ErrInvalid)}
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	if _, err := os.Lstat(dir); err == nil {
		return &store.Error{Field: "directory", Err: fmt.Errorf("%s exists, want a new one: %w", dir, store.ErrInvalid)}
	}
	if err := s.backup(ctx, dir); err != nil {
		return logError(err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, dir string) (err error) {
	part := dir + partSuffix
	if err := os.MkdirAll(filepath.Dir(dir), disk.DirMode); err != nil {
		return err
	}
	if err := os.Mkdir(part, disk.DirMode); err != nil {
		return fmt.Errorf("what an earlier backup left must be removed first: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	if err := s.copyLog(ctx, part); err != nil {
		return err
	}
	if err := disk.SyncPath(part); err != nil {
		return err
	}
	if err := os.Rename(part, dir); err != nil {
		return err
	}
	return disk.SyncPath(filepath.Dir(dir))
}

func (s *Store) copyLog(ctx context.Context, to string) error {
	release := s.log.Hold()
	defer release()
	images, err := s.log.Images(ctx)
	if err != nil {
		return err
	}
	for i := range images {
		from, to := filepath.Join(s.path, images[i].Name), filepath.Join(to, images[i].Name)
		if images[i].Sealed && os.Link(from, to) == nil {
			continue // otherwise the file system has no links, or dir is on another one
		}
		if err := copyImage(ctx, &images[i], to); err != nil {
			return err
		}
	}
	return nil
}

func copyImage(ctx context.Context, image *wal.Image, to string) (err error) {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, disk.FileMode) //nolint:gosec // the directory that the user named
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for r := image.Reader(); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.CopyN(f, r, copyStep); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return err
		}
	}
	return f.Sync()
}
