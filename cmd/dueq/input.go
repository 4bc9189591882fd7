package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// openInput opens a file, or standard input when name is "" or "-", and returns its
// size, or 0 when that is not known.
func (a *app) openInput(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if name == "" || name == "-" {
		return interruptible(ctx, a.in), 0, nil
	}
	f, err := os.Open(name) //nolint:gosec // the user says which file to read
	if err != nil {
		return nil, 0, usage("%w", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s: is a directory, want a file", name)
	}
	if err != nil {
		_ = f.Close() // the error above is the one that matters
		return nil, 0, usage("%w", err)
	}
	return f, info.Size(), nil
}

// interruptible returns a reader of in whose Read ends with ctx. Reading a terminal or a pipe
// cannot be interrupted: the goroutine that reads it ends when the input or the process
// does.
func interruptible(ctx context.Context, in io.Reader) io.ReadCloser {
	out, copied := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = copied.CloseWithError(ctx.Err()) }) // always nil
	go func() {
		_, err := io.Copy(copied, in)
		stop()
		_ = copied.CloseWithError(err) // always nil
	}()
	return out
}
