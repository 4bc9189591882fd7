package dueqhttp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/wire"
)

// Options of a [Handler]. The zero value and nil mean the defaults.
type Options struct {
	// Tokens are those with which callers may present themselves. Default none: everybody who
	// reaches the handler may do everything.
	Tokens []Token
	// ReadOnly refuses every request that can change something.
	ReadOnly bool
	// Hosts are the names that requests may have as their Host, besides localhost and IP
	// addresses: so a web page cannot reach the server under a name of its own that leads to the
	// server's address. Default: with Tokens any name, because such a page has none of them.
	Hosts []string
	// MaxRequest is the maximum size of a request's body in bytes. Default 8 MiB, which has room
	// for the largest body of a message in base 64. Requests of remote stores, which need the
	// scope admin, may always have 8 MiB.
	MaxRequest int64
	// MaxInFlight is how many requests are served at a time, besides those that wait. One more is
	// refused with 429 before its body is read. Default 1000.
	MaxInFlight int
	// MaxWaiting is how many requests wait at a time: for messages, or for events. One more is
	// refused with 429. Default 10,000, which take about 260 MB.
	MaxWaiting int
	// TokenRate is how many requests a second may be made with each token, on average: as many as
	// in a second, and at least 10, may come at once. One that comes too early is refused with 429,
	// and Retry-After says when to try again. Up to 100,000. Default 0: no limit.
	TokenRate float64
	// AddressRate is the same for each address (of IPv6: each network of 64 bits) that is not one
	// of the machine itself, whatever the token. Default 0: no limit. Behind a proxy all callers
	// have the proxy's address.
	AddressRate float64
	// Stopping ends when the server begins to stop: then requests that wait for messages are
	// answered, and /readyz reports that the server is not ready. Default: it never ends.
	Stopping context.Context
	// Logger gets a line for each request, without bodies, tokens and queries, and one for each
	// request that removes or redrives messages or changes a queue. Default [slog.Default].
	Logger *slog.Logger
}

const defaultMaxRequest = 8 << 20

// complete returns the options with their defaults.
func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.MaxRequest < 0 {
		return c, negative("max request", c.MaxRequest)
	}
	if c.MaxInFlight < 0 {
		return c, negative("max in flight", c.MaxInFlight)
	}
	if c.MaxWaiting < 0 {
		return c, negative("max waiting", c.MaxWaiting)
	}
	if err := errors.Join(checkRate("token rate", c.TokenRate), checkRate("address rate", c.AddressRate)); err != nil {
		return c, err
	}
	c.MaxInFlight, c.MaxWaiting = cmp.Or(c.MaxInFlight, defaultMaxInFlight), cmp.Or(c.MaxWaiting, defaultMaxWaiting)
	if err := checkTokens(c.Tokens); err != nil {
		return c, err
	}
	if c.MaxRequest == 0 {
		c.MaxRequest = defaultMaxRequest
	}
	if c.Stopping == nil {
		c.Stopping = context.Background()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// Handler returns a handler that serves the queues of client. It may be mounted below other
// paths with [http.StripPrefix]. The caller closes the client after the server has stopped; o
// may be nil. Errors: [dueq.ErrInvalid] for o, or if client is nil.
//
// Set http.Server.ReadHeaderTimeout and IdleTimeout, as for every handler, but no WriteTimeout
// below 70 s: a request may wait for messages for a minute.
func Handler(client *dueq.Client, o *Options) (http.Handler, error) {
	s, err := newServer(client, o)
	if err != nil {
		return nil, err
	}
	return s.handler(s.routes()), nil
}

func newServer(client *dueq.Client, o *Options) (*server, error) {
	options, err := o.complete()
	if err != nil {
		return nil, err
	}
	if client == nil {
		return nil, invalid("client", "is nil")
	}
	return &server{
		Options: options, client: client, mux: http.NewServeMux(), failures: newFailures(time.Now),
		methods: storeMethods(), tokens: newQuotas("token", options.TokenRate), addresses: newQuotas("address", options.AddressRate),
		serving: gate{what: "are being served", most: int64(options.MaxInFlight)},
		waiting: gate{what: "wait for messages or events", most: int64(options.MaxWaiting)},
	}, nil
}

// handler returns the handler of routes, with what all requests have in common.
func (s *server) handler(routes []route) http.Handler {
	for _, r := range routes {
		s.mux.Handle(r.method+" "+r.path, s.endpoint(r))
	}
	return s.logged(s.recovered(s.sameOrigin(s.knownHost(http.HandlerFunc(s.route)))))
}

// server is the handler.
type server struct {
	Options
	client    *dueq.Client
	mux       *http.ServeMux
	failures  *failures
	feed      feed
	methods   map[string]storeMethod
	dashboard *dashboard // nil: only the API is served
	serving   gate
	waiting   gate
	tokens    *quotas // nil: no limit
	addresses *quotas // nil: no limit
}

// route has what one kind of request may do, and who.
type route struct {
	method, path string
	scope        Scope // that the caller's token must have; open: no token is needed
	serve        func(*call) error
}

// open is the scope of requests without a token.
const open Scope = ""

// routes returns all kinds of requests. openapi.json describes them.
func (s *server) routes() []route {
	const queue, message = "/v1/queues/{queue}", "/v1/queues/{queue}/messages/{ref}"
	return []route{
		{"GET", "/livez", open, serveLive},
		{"GET", "/readyz", open, serveReady},
		{"GET", "/v1/openapi.json", open, serveDescription},

		{"POST", queue + "/messages", Produce, serveSend},
		{"POST", queue + "/batch", Produce, serveBatch},
		{"DELETE", message, Produce, serveCancel},
		{"POST", message + "/reschedule", Produce, serveReschedule},

		{"POST", queue + "/receive", Consume, serveReceive},
		{"POST", queue + "/settle", Consume, serveSettle},

		{"GET", queue + "/messages", Read, serveList},
		{"GET", message, Read, serveGet},
		{"POST", queue + "/delete", Admin, serveDelete},
		{"POST", queue + "/redrive", Admin, serveRedrive},
		{"POST", queue + "/purge", Admin, servePurge},
		{"POST", queue + "/reschedule", Admin, serveRescheduleAll},

		{"GET", "/v1/queues", Read, serveQueues},
		{"GET", "/v1/events", Read, serveEvents},
		{"GET", "/v1/members", Read, serveAllMembers},
		{"GET", "/v1/forecast", Read, serveAllForecast},
		{"GET", "/v1/store", Read, serveDescribe},
		{"GET", queue, Read, serveQueue},
		{"GET", queue + "/members", Read, serveMembers},
		{"GET", queue + "/forecast", Read, serveForecast},
		{"GET", queue + "/failures", Read, serveFailures},
		{"PUT", queue, Admin, serveCreate},
		{"PATCH", queue, Admin, serveUpdate},
		{"DELETE", queue, Admin, serveDeleteQueue},
		{"POST", queue + "/pause", Admin, servePause},
		{"POST", queue + "/resume", Admin, serveResume},
		{"GET", "/metrics", Read, serveMetrics},

		{"POST", storePath, Admin, serveStore},
	}
}

// endpoint returns the handler of a route.
func (s *server) endpoint(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		c := &call{server: s, w: w, r: request, route: r}
		if r.path == storePath {
			w.Header().Set(wire.Answer, "1")
		}
		err := c.pace()
		if err == nil {
			err = c.admit() //nolint:contextcheck // the call has the request, and so its context
		}
		if err == nil && r.scope != open { // probes are answered under load, too
			err = c.enter(&s.serving)
			defer c.leave()
		}
		if err == nil {
			err = r.serve(c)
		}
		if err != nil {
			c.fail(err) //nolint:contextcheck // the call has the request, and so its context
		}
	})
}

// route passes a request to its endpoint. It answers requests that have none with a problem, as
// every other error, where the multiplexer would answer with text.
func (s *server) route(w http.ResponseWriter, r *http.Request) {
	h, pattern := s.mux.Handler(r)
	if pattern != "" {
		s.mux.ServeHTTP(w, r)
		return
	}
	found := &unwritten{header: http.Header{}}
	h.ServeHTTP(found, r)
	if allow := found.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
	}
	writeProblem(w, problem{Status: found.status, Code: codeOfStatus(found.status), Detail: "there is nothing at this path for this method"})
}

// unwritten keeps the status and the header of an answer that is not sent.
type unwritten struct {
	header http.Header
	status int
}

func (u *unwritten) Header() http.Header         { return u.header }
func (u *unwritten) Write(b []byte) (int, error) { return len(b), nil }
func (u *unwritten) WriteHeader(status int)      { u.status = status }
