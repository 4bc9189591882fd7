package dueq

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/dueq-dev/dueq/store/embedded"
)

// openFile opens the store in the directory that a URL's rest names: a path, as it
// stands, and a query.
func openFile(ctx context.Context, rest string, c Config) (*Client, error) {
	dir, query, _ := strings.Cut(rest, "?")
	if path, ok := strings.CutPrefix(dir, "//"); ok {
		if !strings.HasPrefix(path, "/") {
			return nil, invalid("url", "file://%.20s names a host: want file:DIR or file:///DIR", path)
		}
		dir = path
		if drive := strings.TrimPrefix(path, "/"); filepath.VolumeName(drive) != "" {
			dir = drive // file:///C:/data on Windows
		}
	}
	if dir == "" {
		return nil, invalid("url", "want a directory, as in file:./data")
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
	return newClient(s, c, s.Close, nil), nil
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
