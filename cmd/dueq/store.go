package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
	"github.com/dueq-dev/dueq/internal/reach"
	"github.com/dueq-dev/dueq/internal/socket"
)

// openTimeout is how long a store on a server may take to answer.
const openTimeout = 3 * time.Second

// errSilent is the error of a store that does not answer.
var errSilent error = silence{}

type silence struct{}

func (silence) Error() string { return fmt.Sprintf("no answer within %s", openTimeout) }

// Is makes it an ErrUnavailable, so that the library names what the last try met beside it.
func (silence) Is(target error) bool { return target == dueq.ErrUnavailable }

// storeURL returns --store, or else what the environment says.
func (a *app) storeURL() string {
	if a.store != "" {
		return a.store
	}
	return a.env("DUEQ_STORE")
}

// defaultStore returns the URL of the directory that is used when no store is named:
// dueq in the user's data home (XDG Base Directory Specification; on Windows the local
// application data); "" without a home.
func (a *app) defaultStore() string {
	for _, home := range []struct{ variable, below string }{
		{"XDG_DATA_HOME", ""}, {"HOME", ".local/share"}, {"LOCALAPPDATA", ""},
	} {
		if dir := a.env(home.variable); filepath.IsAbs(dir) {
			return "file:" + filepath.Join(dir, filepath.FromSlash(home.below), "dueq")
		}
	}
	return ""
}

// open connects to the store that was chosen, or the default one. If a process that has the
// directory open serves it, the store is used through that process.
func (a *app) open(ctx context.Context) (*dueq.Client, error) {
	chosen, err := a.chosenURL()
	if err != nil {
		return nil, err
	}
	client, err := a.openURL(ctx, cmp.Or(socket.URL(ctx, chosen), chosen))
	if inUse(err) {
		return nil, fmt.Errorf("%w: stop that process, or have it serve its store (dueq serve; dueqhttp.ListenSocket of the Go API)", err)
	}
	return client, err
}

// openItself is open for commands that must have a directory for themselves.
func (a *app) openItself(ctx context.Context) (*dueq.Client, error) {
	chosen, err := a.chosenURL()
	if err != nil {
		return nil, err
	}
	return a.openURL(ctx, chosen)
}

func (a *app) chosenURL() (string, error) {
	if err := a.emptyURL(); err != nil {
		return "", err
	}
	chosen := cmp.Or(a.storeURL(), a.defaultStore())
	if chosen == "" {
		return "", usage("no store, and no home directory to keep one in: give --store URL or set DUEQ_STORE, for example --store file:./data")
	}
	return a.withFiles(a.withToken(chosen))
}

// storeFiles are the options of a store's URL that name files; each is a flag, too, and a variable.
var storeFiles = []struct{ option, flag, variable, use string }{
	{"ca", "store-ca", "DUEQ_STORE_CA", "`file` of the authorities that the store's certificate must be signed by"},
	{"cert", "store-cert", "DUEQ_STORE_CERT", "`file` of the certificate to present to the store"},
	{"key", "store-key", "DUEQ_STORE_KEY", "`file` of its key"},
	{"password_file", "store-password-file", "DUEQ_STORE_PASSWORD_FILE", "`file` with the password of a Redis"},
}

// withFiles puts the files of the flags, or else of the environment, into the URL of a store. What
// the URL has wins over the environment.
func (a *app) withFiles(storeURL string) (string, error) {
	scheme, _, _ := strings.Cut(storeURL, ":")
	redis := strings.HasPrefix(scheme, "redis") || scheme == "unix"
	_, query, _ := strings.Cut(storeURL, "?")
	given, _ := url.ParseQuery(query) // what cannot be read is refused when the store is opened
	for _, f := range storeFiles {
		fits := redis || scheme == "https" && f.option != "password_file"
		name, isFlag := a.files[f.option], a.files[f.option] != ""
		switch {
		case isFlag && !fits:
			return "", usage("--%s: is not for a store of %s:", f.flag, term.Escape(scheme))
		case isFlag && given.Has(f.option):
			return "", usage("--%s: is given in the URL, too, want one of them", f.flag)
		case !isFlag && fits && !given.Has(f.option):
			name = a.env(f.variable)
		}
		if name != "" {
			storeURL = withOption(storeURL, f.option+"="+url.QueryEscape(name))
		}
	}
	return storeURL, nil
}

// emptyURL returns an error for a store that is named by nothing: a script whose variable is not
// set would use the default store.
func (a *app) emptyURL() error {
	switch {
	case a.storeFlag != nil && a.storeFlag.Changed && a.store == "":
		return usage("--store: is empty, want a URL such as file:./data")
	case a.store == "" && a.isSet != nil && a.isSet("DUEQ_STORE") && a.env("DUEQ_STORE") == "":
		return usage("DUEQ_STORE is set but empty: unset it to use the default store, or give it a URL such as file:./data")
	}
	return nil
}

// withToken puts the token of the environment into the URL of a server that has none.
func (a *app) withToken(storeURL string) string {
	token := a.env("DUEQ_TOKEN")
	u, err := url.Parse(storeURL)
	if err != nil || token == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return storeURL
	}
	u.User = url.UserPassword("", token)
	return u.String()
}

// openURL opens a store. Only commands that send make one in a directory that has none: a mistyped
// name must not look like an empty store.
func (a *app) openURL(ctx context.Context, url string) (*dueq.Client, error) {
	if url == "mem:" && a.makes {
		a.note("note: mem: is the memory of this command: what it sends is gone when it ends")
	}
	path, isDir := strings.CutPrefix(url, "file:")
	if !isDir {
		return a.connect(ctx, url)
	}
	client, err := a.connect(ctx, withOption(url, "create=false"))
	if a.makes && errors.Is(err, dueq.ErrNotFound) {
		path, _, _ = strings.Cut(path, "?")
		a.note("note: there was no store at %s, it is made", term.Escape(path))
		return a.connect(ctx, url)
	}
	return client, err
}

// withOption adds an option to the query of a URL.
func withOption(url, option string) string {
	if strings.Contains(url, "?") {
		return url + "&" + option
	}
	return url + "?" + option
}

func (a *app) connect(ctx context.Context, url string) (*dueq.Client, error) {
	bound, cancel := toOpen(ctx, url)
	defer cancel()
	client, err := dueq.Open(reach.AtOnce(bound), url, &dueq.Options{Logger: a.logger()})
	if err == nil || ctx.Err() != nil || errors.Is(err, dueq.ErrInvalid) {
		return client, err
	}
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, dueq.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", dueq.ErrUnavailable, errSilent)
	}
	if outer, ok := errors.AsType[*dueq.Error](err); ok {
		err = outer.Err
	}
	return nil, fmt.Errorf("open %s: %w", storeName(url), err)
}

// toOpen returns the context for opening a store. A directory takes the longer the more it has, and
// has no limit.
func toOpen(ctx context.Context, url string) (context.Context, context.CancelFunc) {
	if strings.HasPrefix(url, "file:") {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, openTimeout, errSilent)
}

// inUse reports whether err says that another process has the directory open.
func inUse(err error) bool {
	return errors.Is(err, dueq.ErrUnavailable) && strings.Contains(err.Error(), "in use by another process")
}

// logger writes the library's log to standard error: errors, and for commands that send
// messages or run for long also warnings, such as that a Redis may lose messages.
func (a *app) logger() *slog.Logger {
	if a.log != nil {
		return slog.New(a.log)
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{
		Level: a.logLevel,
		ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
			if attr.Key == slog.TimeKey && !a.logTime {
				return slog.Attr{}
			}
			return attr
		},
	}))
}

// creating makes cmd make a store in a directory that has none.
func creating(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{annotationMakes: "true"}
	return cmd
}

// annotationMakes is on commands that make a store.
const annotationMakes = "dueq_makes_store"

// warned makes cmd log warnings of the library, too, if needed returns true when it runs.
func (a *app) warned(cmd *cobra.Command, needed func() bool) *cobra.Command {
	cmd.PreRun = func(*cobra.Command, []string) {
		if needed() {
			a.logLevel = slog.LevelWarn
		}
	}
	return cmd
}

func always() bool { return true }

// withClient gives use a client for as long as it runs.
func (a *app) withClient(ctx context.Context, use func(*dueq.Client) error) error {
	return withOpened(ctx, a.open, func(client *dueq.Client) error { return a.meantQueue(ctx, client, use(client)) })
}

func withOpened(ctx context.Context, open func(context.Context) (*dueq.Client, error), use func(*dueq.Client) error) (err error) {
	client, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return use(client)
}

// onQueue makes cmd run act on a queue, with the store opened. It adds the flag --queue.
func (a *app) onQueue(cmd *cobra.Command, act func(ctx context.Context, q *dueq.Queue, args []string) error) *cobra.Command {
	name := queueFlag(cmd)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		return a.withClient(ctx, func(client *dueq.Client) error {
			return act(ctx, client.Queue(*name), args)
		})
	})
	return cmd
}

// queueFlag adds the flag --queue, which must be given.
func queueFlag(cmd *cobra.Command) *string {
	name := cmd.Flags().StringP("queue", "q", "", "name of the queue")
	_ = cmd.MarkFlagRequired("queue") // fails only when there is no such flag
	return name
}
