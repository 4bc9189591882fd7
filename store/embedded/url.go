package embedded

import (
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// ParseURL returns the directory that a file: URL names, unchanged, and c with the settings
// of the URL's query. Errors: ErrInvalid.
func ParseURL(text string, c Config) (dir string, config Config, err error) {
	rest, ok := strings.CutPrefix(text, "file:")
	if !ok {
		return "", c, noDirectory()
	}
	dir, query, _ := strings.Cut(rest, "?")
	if path, ok := strings.CutPrefix(dir, "//"); ok {
		if !strings.HasPrefix(path, "/") {
			return "", c, store.Invalid("url", "file://%.20s names a host: want file:DIR or file:///DIR", path)
		}
		dir = path
		if drive := strings.TrimPrefix(path, "/"); filepath.VolumeName(drive) != "" {
			dir = drive // file:///C:/data on Windows
		}
	}
	if dir == "" {
		return "", c, noDirectory()
	}
	c, err = c.with(query)
	return dir, c, err
}

func noDirectory() error { return store.Invalid("url", "want a directory, as in file:./data") }

// with returns c with the settings of a query.
func (c Config) with(query string) (Config, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return c, store.Invalid("url", "the query cannot be read")
	}
	for name := range values {
		switch value := values.Get(name); name {
		case "sync":
			c.NeverSync, c.SyncEvery, err = parseSync(value)
		case "repair":
			c.Repair = value == "true"
		case "create":
			c.MustExist = value == "false"
		default:
			err = store.Invalid("url", "%.20q is none of sync, repair, create", name)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func parseSync(value string) (never bool, every time.Duration, err error) {
	switch value {
	case "always":
		return false, 0, nil
	case "never":
		return true, 0, nil
	}
	every, err = time.ParseDuration(value)
	if err != nil || every <= 0 {
		return false, 0, store.Invalid("sync", "%.20q is none of always, never, or a span such as 100ms", value)
	}
	return false, every, nil
}
