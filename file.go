package dueq

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

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
	rest, ok := strings.CutPrefix(text, "file:")
	if !ok {
		return nil, invalid("url", "want a directory, as in file:./data")
	}
	dir, _, err := directory(rest)
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

// openFile opens the store in the directory that a URL's rest names.
func openFile(ctx context.Context, rest string, c Options) (*Client, error) {
	dir, query, err := directory(rest)
	if err != nil {
		return nil, err
	}
	config, err := fileConfig(query)
	if err != nil {
		return nil, err
	}
	config.Logger = c.Logger
	s, err := embedded.Open(ctx, dir, config)
	if err != nil {
		return nil, err
	}
	return newClient(s, c, s.Close), nil //nolint:contextcheck // for what Close does, which has none
}

// directory returns the parts of a URL's rest: a path, as it stands, and a query.
func directory(rest string) (dir, query string, err error) {
	dir, query, _ = strings.Cut(rest, "?")
	if path, ok := strings.CutPrefix(dir, "//"); ok {
		if !strings.HasPrefix(path, "/") {
			return "", "", invalid("url", "file://%.20s names a host: want file:DIR or file:///DIR", path)
		}
		dir = path
		if drive := strings.TrimPrefix(path, "/"); filepath.VolumeName(drive) != "" {
			dir = drive // file:///C:/data on Windows
		}
	}
	if dir == "" {
		return "", "", invalid("url", "want a directory, as in file:./data")
	}
	return dir, query, nil
}

func fileConfig(query string) (embedded.Config, error) {
	var config embedded.Config
	values, err := url.ParseQuery(query)
	if err != nil {
		return config, invalid("url", "the query cannot be read")
	}
	for name := range values {
		switch value := values.Get(name); name {
		case "sync":
			err = setSync(&config, value)
		case "repair":
			config.Repair = value == "true"
		default:
			err = invalid("url", "%.20q is none of sync, repair", name)
		}
		if err != nil {
			return config, err
		}
	}
	return config, nil
}

func setSync(config *embedded.Config, value string) error {
	switch value {
	case "always":
		return nil
	case "never":
		config.NeverSync = true
		return nil
	}
	span, err := parseSpan(value)
	if err != nil || span == 0 {
		return invalid("sync", "%.20q is none of always, never, or a span such as 100ms", value)
	}
	config.SyncEvery = span
	return nil
}
