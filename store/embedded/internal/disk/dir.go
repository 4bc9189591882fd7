package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	// DirMode is the mode of directories that a store makes: only the owner has access.
	DirMode = 0o700
	// FileMode is the mode of files that a store makes: only the owner has access.
	FileMode = 0o600
	// LockName is the name of the file that is locked. It stays when the directory is closed.
	LockName   = "lock"
	maxPidText = 20
)

// Dir is a directory of the operating system's, locked for this process.
type Dir struct {
	root *os.Root
	self *os.File // the directory, open so that a sync needs no free descriptor
	lock *os.File
}

var _ Disk = (*Dir)(nil)

// OpenDir opens a directory, and makes it with DirMode if it is missing. It refuses a
// directory that is a symlink or that every user may write to: a user who can replace files
// controls the store. ErrLocked names the process that has the directory open.
func OpenDir(path string) (*Dir, error) {
	if err := makeDir(path); err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", path)
	}
	if writableByOthers(info) {
		return nil, fmt.Errorf("everybody may write to %s (mode %#o): want 0700", path, info.Mode().Perm())
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	self, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	d := &Dir{root: root, self: self}
	if err := errors.Join(d.mustBe(info), d.takeLock()); err != nil {
		return nil, errors.Join(err, self.Close(), root.Close())
	}
	return d, nil
}

// makeDir makes a directory and those above it that are missing, durably.
func makeDir(path string) error {
	var made []string
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		_, err := os.Lstat(at)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		made = append(made, at)
	}
	if err := os.MkdirAll(path, DirMode); err != nil {
		return err
	}
	for _, name := range made {
		if err := SyncPath(filepath.Dir(name)); err != nil {
			return err
		}
	}
	return nil
}

// mustBe returns an error if the directory that was opened is not the one that was examined:
// the path may have been replaced in between.
func (d *Dir) mustBe(want fs.FileInfo) error {
	got, err := d.root.Stat(".")
	if err == nil && !os.SameFile(want, got) {
		err = fmt.Errorf("%s was replaced while it was opened", d.root.Name())
	}
	return err
}

// takeLock locks the directory as long as this process has it open; the lock ends with the
// process. Where possible it also locks the directory itself, so that a second process is
// refused even if the lock file was removed.
func (d *Dir) takeLock() error {
	f, err := d.root.OpenFile(LockName, os.O_RDWR|os.O_CREATE, FileMode)
	if err != nil {
		return err
	}
	if err := errors.Join(d.regular(f, LockName), d.lockBy(f)); err != nil {
		return errors.Join(err, f.Close())
	}
	d.lock = f
	return nil
}

// lockBy locks f and writes this process's pid into it.
func (d *Dir) lockBy(f *os.File) error {
	if err := errors.Join(lockDirectory(d.self), lockFile(f)); err != nil {
		if !errors.Is(err, ErrLocked) {
			return err
		}
		pid := make([]byte, maxPidText)
		n, _ := f.ReadAt(pid, 0)
		return fmt.Errorf("%s: %w, pid %s", d.root.Name(), ErrLocked, digits(pid[:n]))
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Append(nil, os.Getpid()), 0)
	return err
}

// digits returns the digits that text begins with: other content of the file must not reach
// a terminal.
func digits(text []byte) string {
	n := slices.IndexFunc(text, func(c byte) bool { return c < '0' || c > '9' })
	if n < 0 {
		n = len(text)
	}
	if n == 0 {
		return "unknown"
	}
	return string(text[:n])
}

// Name returns the path the directory was opened by.
func (d *Dir) Name() string { return d.root.Name() }

// Close gives up the lock. Files that are still open stay usable.
//
// It unlocks before it closes: a process that another goroutine is about to start has
// the locks' descriptors as well until its program runs, and closing ours alone would
// leave the directory locked until then.
func (d *Dir) Close() error {
	unlockDirectory(d.self)
	return errors.Join(unlockFile(d.lock), d.lock.Close(), d.self.Close(), d.root.Close())
}

// List returns the names of all entries except directories and the lock file. They may be
// symlinks, which Open refuses.
func (d *Dir) List() ([]string, error) {
	entries, err := fs.ReadDir(d.root.FS(), ".") // sorted
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && e.Name() != LockName {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Create makes an empty file with mode 0600.
func (d *Dir) Create(name string) (File, error) {
	f, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, FileMode)
	if err != nil {
		return nil, spaceError(err)
	}
	return file{f}, nil
}

// Open opens a regular file.
func (d *Dir) Open(name string) (File, error) {
	f, err := d.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := d.regular(f, name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return file{f}, nil
}

// regular returns an error unless f is the regular file with that name and not the target of
// a symlink.
func (d *Dir) regular(f *os.File, name string) error {
	named, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	if !named.Mode().IsRegular() || !os.SameFile(named, opened) {
		return fmt.Errorf("%s is not a regular file", filepath.Join(d.root.Name(), name))
	}
	return nil
}

// Rename gives a file another name.
func (d *Dir) Rename(from, to string) error { return spaceError(d.root.Rename(from, to)) }

// Remove removes a name.
func (d *Dir) Remove(name string) error { return d.root.Remove(name) }

// Sync makes the names durable.
func (d *Dir) Sync() error { return syncNames(d.self) }

// SyncPath makes the names in a directory durable.
func SyncPath(path string) error {
	f, err := os.Open(path) //nolint:gosec // the directory that the user named
	if err != nil {
		return err
	}
	return errors.Join(syncNames(f), f.Close())
}

// file is a file of the operating system's.
type file struct{ *os.File }

func (f file) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f file) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	return n, spaceError(err)
}

func (f file) Allocate(size int64) error { return spaceError(allocate(f.File, size)) }

func (f file) Sync() error { return dataSync(f.File) }

func (f file) Rewrite(b []byte, at int64) error { return spaceError(rewrite(f.File, b, at)) }
