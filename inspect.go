package dueq

import (
	"context"

	"github.com/dueq-dev/dueq/store/embedded"
)

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
