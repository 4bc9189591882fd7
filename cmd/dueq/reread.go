package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// rereadEvery is how often files are looked at that may change while the server runs.
const rereadEvery = 5 * time.Second

// maxReread is the maximum size of such a file.
const maxReread = 2 << 20

// watched is a file that may change while the server runs.
type watched struct {
	path string
	text []byte // that was read last
	// changed gets the new content. It returns an error if it is invalid; then nothing is changed.
	changed func(text []byte) error

	failed string // the error that was logged last
}

// reread looks at the files until ctx ends: every 5 s, and at each of the hangups.
func reread(ctx context.Context, log *slog.Logger, hangups <-chan os.Signal, files []*watched) {
	ticker := time.NewTicker(rereadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-hangups:
		}
		for _, f := range files {
			f.look(ctx, log)
		}
	}
}

// look reads the file, and passes it on if it has changed. A file that cannot be read or is
// invalid, such as one of which only half has been written yet, changes nothing. That is logged
// once.
func (f *watched) look(ctx context.Context, log *slog.Logger) {
	text, err := readLimited(f.path, maxReread)
	if err == nil && bytes.Equal(text, f.text) {
		f.failed = ""
		return
	}
	if err == nil {
		err = f.changed(text)
	}
	if err == nil {
		f.text, f.failed = text, ""
		log.InfoContext(ctx, "read a changed file", slog.String("file", f.path))
		return
	}
	if f.failed != err.Error() {
		f.failed = err.Error()
		log.WarnContext(ctx, "could not use a changed file; what it said before stays in effect", slog.String("file", f.path), slog.Any("error", err))
	}
}

// readLimited reads a file with a maximum size.
func readLimited(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, the limit is %d", path, info.Size(), limit)
	}
	return os.ReadFile(path) //nolint:gosec // the user says which file to read
}
