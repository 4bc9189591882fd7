package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

// serving are the flags of serve.
type serving struct {
	listen    string
	config    string
	tokenFile string
	targets   string
	cert, key string
	clientCA  string
	hosts     []string
	readOnly  bool
	insecure  bool

	maxInFlight, maxWaiting, maxConnections int

	tokenRate, addressRate float64 // requests per second
}

// listening is the first line of output: where the server can be reached.
type listening struct {
	URL string `json:"url"`
}

func (l listening) text() string { return l.URL + "\n" }

func newServe(a *app) *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API and the dashboard",
		Long: `Serve the queues of a store over HTTP until the process is asked to end (Ctrl-C, SIGTERM). Its URL is
the only line on standard output; the log is on standard error. It has a dashboard for browsers;
GET /v1/openapi.json describes the API for programs in any language.

Without --token-file everybody who reaches the server may do everything, so it refuses to listen
on an address that other machines can reach. "dueq token" makes tokens.

With --targets it also posts the messages of queues to HTTP endpoints. Changes of that file and of
--token-file take effect within 5 s, and at once with SIGHUP. docs/HTTP.md describes both.

Each flag can be set by a variable, DUEQ_ and its name in capitals (DUEQ_TOKEN_FILE), or in the
file that --config names, by a line such as "token-file = /etc/dueq/tokens"; a flag wins over the
variable, and that over the file.`,
		Example: `  dueq serve
  dueq serve --store redis://localhost:6379 --listen :7373 --token-file tokens --tls-cert cert.pem --tls-key key.pem`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&s.listen, "listen", "127.0.0.1:7373", "`address` to listen on; port 0 chooses a free one")
	flags.StringVar(&s.config, "config", "", "`file` with a line NAME = VALUE for each flag that it sets")
	flags.StringVar(&s.tokenFile, "token-file", "", "`file` of tokens, see \"dueq token\"")
	flags.StringVar(&s.targets, "targets", "", "`file` that says to which endpoints the messages of queues are posted")
	flags.StringVar(&s.cert, "tls-cert", "", "`file` of the certificate, in PEM; it is read again when it has changed")
	flags.StringVar(&s.key, "tls-key", "", "`file` of its key")
	flags.StringVar(&s.clientCA, "client-ca", "", "`file` of the authorities that sign certificates of clients, which every client must have then")
	flags.StringSliceVar(&s.hosts, "host", nil, "`name` by which clients call the server, besides localhost; may be repeated")
	flags.BoolVar(&s.readOnly, "read-only", false, "refuse requests that change something")
	flags.IntVar(&s.maxInFlight, "max-in-flight", 1000, "requests that are served at a time, besides those that wait")
	flags.IntVar(&s.maxWaiting, "max-waiting", 10_000, "requests that wait for messages or events at a time, of 26 KB each")
	flags.IntVar(&s.maxConnections, "max-connections", 12_000, "connections at a time; one more closes the one that has been idle for longest")
	flags.Var(rate{&s.tokenRate}, "token-rate", "`requests` that may be made with each token, such as 50/s, 90/m or 100/h (default no limit)")
	flags.Var(rate{&s.addressRate}, "address-rate", "`requests` that may come from each address of another machine, likewise (default no limit)")
	flags.BoolVar(&s.insecure, "insecure", false, "listen on any address without tokens")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a.started, a.makes, a.logLevel, a.logTime = true, true, slog.LevelInfo, true
		if err := a.configure(cmd, s.config); err != nil {
			return err
		}
		return a.serve(cmd.Context(), &s)
	}
	return cmd
}

// Limits of the server. Those of bodies and answers are the handler's.
const (
	headerTimeout  = 5 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
	stopTimeout    = 30 * time.Second
)

func newServer(log *slog.Logger) *http.Server {
	return &http.Server{
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // handshakes that fail
	}
}

// serve runs the server until ctx ends.
func (a *app) serve(ctx context.Context, s *serving) error {
	if err := s.checkLimits(); err != nil {
		return err
	}
	log := a.logger()
	f, err := s.readFiles(log)
	if err != nil {
		return err
	}
	if err := s.checkAddress(ctx, len(f.tokens) > 0); err != nil {
		return err
	}
	server := newServer(log)
	server.ConnState = newConnections(s.maxConnections, log).changed
	if server.TLSConfig, err = s.tls(log); err != nil {
		return err
	}
	if server.TLSConfig == nil && len(f.tokens) > 0 {
		s.warnOfPlainText(ctx, log)
	}
	return withOpened(ctx, a.openItself, func(client *dueq.Client) error {
		api := &api{client: client, options: dueqhttp.Options{
			Hosts: s.hosts, ReadOnly: s.readOnly, Logger: log, MaxInFlight: s.maxInFlight, MaxWaiting: s.maxWaiting,
			TokenRate: s.tokenRate, AddressRate: s.addressRate,
		}}
		if err := api.use(ctx, f.tokens); err != nil {
			return err
		}
		server.Handler = api
		if server.TLSConfig != nil {
			server.Handler = strictTransport(api)
		}
		leave, err := a.serveSocket(ctx, client, s.readOnly, log)
		if err != nil {
			return err
		}
		defer leave()
		pushing := &pushing{client: client, log: log, running: map[string]*pusher{}}
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
		return a.listen(ctx, server, s, func(ctx context.Context) {
			pushing.apply(ctx, f.targets)
			reread(ctx, log, hangups, s.watched(ctx, f, api, pushing))
			pushing.wait()
		})
	})
}

// checkLimits refuses limits that leave nothing.
func (s *serving) checkLimits() error {
	for flag, most := range map[string]int{"max-in-flight": s.maxInFlight, "max-waiting": s.maxWaiting, "max-connections": s.maxConnections} {
		if most < 1 {
			return usage("--%s: %d is less than 1", flag, most)
		}
	}
	return nil
}

// checkAddress refuses an address that other machines can reach unless callers must present
// themselves, by a token or a certificate.
func (s *serving) checkAddress(ctx context.Context, tokens bool) error {
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return usage("--listen: %w", err)
	}
	if tokens || s.clientCA != "" || s.insecure || isLoopback(ctx, host) {
		return nil
	}
	return usage("--listen: %s can be reached by other machines, and there are no tokens: give --token-file, or --insecure", s.listen)
}

// warnOfPlainText warns if tokens travel to other machines in the clear.
func (s *serving) warnOfPlainText(ctx context.Context, log *slog.Logger) {
	if host, _, err := net.SplitHostPort(s.listen); err == nil && !isLoopback(ctx, host) {
		log.Warn("tokens and messages are sent without encryption: give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy with TLS",
			slog.String("listen", s.listen))
	}
}

// isLoopback reports whether all addresses of a host are those of the machine itself.
func isLoopback(ctx context.Context, host string) bool {
	if host == "" {
		return false // all addresses
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(found) == 0 {
		return false
	}
	for _, address := range found {
		if !netip.Addr.IsLoopback(address.Unmap()) {
			return false
		}
	}
	return true
}

// strictTransport asks browsers to use TLS only.
func strictTransport(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		next.ServeHTTP(w, r)
	})
}

// listen serves until ctx ends, and does something else beside it. Then requests in flight have
// stopTimeout to end.
func (a *app) listen(ctx context.Context, server *http.Server, s *serving, beside func(context.Context)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return usage("--listen: %w", err)
	}
	url := "http://" + listener.Addr().String()
	served := make(chan error, 1)
	if server.TLSConfig != nil {
		url = "https://" + listener.Addr().String()
		go func() { served <- server.ServeTLS(listener, "", "") }()
	} else {
		go func() { served <- server.Serve(listener) }()
	}
	if err := a.print(listening{url}); err != nil {
		return errors.Join(err, server.Close(), ignoreClosed(<-served))
	}
	inner, end := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { beside(inner) })
	defer others.Wait()
	defer end()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		return errors.Join(fmt.Errorf("requests did not end within %s: %w", stopTimeout, err), server.Close(), ignoreClosed(<-served))
	}
	return ignoreClosed(<-served)
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
