package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/targets"
	"github.com/dueq-dev/dueq/dueqhttp"
)

// files are the tokens and targets of a server, with the content of their files.
type files struct {
	tokens     []dueqhttp.Token
	tokenText  []byte
	targets    []targets.Target
	targetText []byte
}

// readFiles reads the files of tokens and targets.
func (s *serving) readFiles(log *slog.Logger) (f files, err error) {
	if s.tokenFile != "" {
		if f.tokenText, err = readLimited(s.tokenFile, maxReread); err == nil {
			f.tokens, err = parseTokens(f.tokenText)
		}
		if err != nil {
			return f, usage("--token-file: %s: %w", s.tokenFile, err)
		}
	}
	if s.targets == "" {
		return f, nil
	}
	if s.readOnly {
		return f, usage("--targets: together with --read-only")
	}
	if f.targetText, err = readLimited(s.targets, maxReread); err == nil {
		f.targets, err = targets.Parse(f.targetText)
	}
	if err != nil {
		return f, usage("--targets: %s: %w", s.targets, err)
	}
	warnOfReaders(log, s.targets)
	return f, nil
}

// parseTokens parses the file of tokens, which must have one: without tokens everybody could do
// everything.
func parseTokens(text []byte) ([]dueqhttp.Token, error) {
	tokens, err := dueqhttp.ParseTokens(bytes.NewReader(text))
	if err == nil && len(tokens) == 0 {
		err = errors.New("it has no token")
	}
	return tokens, err
}

// warnOfReaders warns if other users of the machine can read a file with secrets.
func warnOfReaders(log *slog.Logger, path string) {
	const others = 0o044
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&others != 0 {
		log.Warn("other users can read the file of targets, which may have secrets", slog.String("file", path))
	}
}

// watched returns the files that may change while the server runs.
func (s *serving) watched(ctx context.Context, f files, api *api, pushing *pushing) []*watched {
	var all []*watched
	if s.targets != "" {
		all = append(all, &watched{path: s.targets, text: f.targetText, changed: func(text []byte) error {
			wanted, err := targets.Parse(text)
			if err == nil {
				pushing.apply(ctx, wanted)
			}
			return err
		}})
	}
	if s.tokenFile != "" {
		all = append(all, &watched{path: s.tokenFile, text: f.tokenText, changed: func(text []byte) error {
			tokens, err := parseTokens(text)
			if err != nil {
				return err
			}
			return api.use(ctx, tokens)
		}})
	}
	return all
}

// api is the handler of the server. Another one takes its place when the tokens have changed.
type api struct {
	client  *dueq.Client
	options dueqhttp.Options
	current atomic.Pointer[generation]
}

// generation is a handler with the tokens of some time.
type generation struct {
	http.Handler
	stop context.CancelFunc
}

// use makes a handler with other tokens serve all further requests, until ctx ends. Requests that
// wait are answered: their tokens may not be valid any more.
func (a *api) use(ctx context.Context, tokens []dueqhttp.Token) error {
	ctx, stop := context.WithCancel(ctx)
	options := a.options
	options.Tokens, options.Stopping = tokens, ctx
	handler, err := dueqhttp.UI(a.client, &options) //nolint:contextcheck // each request has its own
	if err != nil {
		stop()
		return err
	}
	if before := a.current.Swap(&generation{handler, stop}); before != nil {
		before.stop()
	}
	return nil
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.current.Load().ServeHTTP(w, r) }
