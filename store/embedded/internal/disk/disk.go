// Package disk is the interface of the log to the file system: one directory of files. It is
// an interface so that tests can crash it, fill it and make it fail at every operation (see
// package faultdisk).
package disk

import (
	"errors"
	"io"
)

// Disk is one directory. Names are plain file names.
//
// A change is durable after a Sync: the content of a file after the Sync of the file, the
// creation, renaming and removal of a name after the Sync of the Disk.
type Disk interface {
	// List returns the names of all files, sorted.
	List() ([]string, error)
	// Create makes an empty file, readable by its owner alone. It fails when the
	// name exists.
	Create(name string) (File, error)
	// Open opens a regular file for reading and writing. It follows no symlink.
	Open(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// Sync makes the names durable.
	Sync() error
}

// File is an open file. ReadAt may be called at the same time as everything else.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	// Truncate sets the size and gives back the space allocated behind it.
	Truncate(size int64) error
	// Allocate makes sure that writes up to size cannot fail for want of space. The
	// file's size stays as it is. ErrFull if there is not enough; nil, with no
	// effect, where the file system cannot do it.
	Allocate(size int64) error
	// Sync makes the content durable.
	Sync() error
	// Rewrite writes again what can be read at an offset, so that the next Sync makes it
	// durable although an earlier one failed. The file ends behind it then.
	Rewrite(b []byte, at int64) error
}

// Errors that the log handles. Implementations wrap them.
var (
	ErrFull   = errors.New("no space left on device")
	ErrLocked = errors.New("in use by another process")
)
