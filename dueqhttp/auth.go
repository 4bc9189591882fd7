package dueqhttp

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// admit returns an error unless the caller may make the request.
func (c *call) admit() error {
	if c.route.scope == open {
		return nil
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	if err := c.allow(c.route.scope, c.r.PathValue("queue")); err != nil {
		return err
	}
	if c.ReadOnly && c.r.Method != http.MethodGet && c.route.path != storePath { // whose methods are checked by serveStore
		return errReadOnly()
	}
	return nil
}

func errReadOnly() error { return &statusError{http.StatusForbidden, "the server is read-only"} }

// authenticate finds the caller's token.
func (c *call) authenticate() error {
	if len(c.Tokens) == 0 {
		return nil
	}
	secret := c.secret()
	if secret == "" {
		return &statusError{http.StatusUnauthorized, "a token is missing: send the header Authorization: Bearer TOKEN"}
	}
	return c.present(secret)
}

// secret returns the secret of the caller's token: that of the header or, without one, that of the
// dashboard's session.
func (c *call) secret() string {
	header := c.r.Header.Get("Authorization")
	if header == "" && c.dashboard != nil {
		return c.sessionSecret()
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return secret
}

// present finds the token with a secret and makes it the caller's.
func (c *call) present(secret string) error {
	c.token = c.find(sha256.Sum256([]byte(secret)))
	if c.token == nil {
		return c.unknownToken()
	}
	if l, ok := c.w.(*logger); ok {
		l.caller = c.token.Name
	}
	return c.tokens.take(c.token.Name, time.Now())
}

// find returns the token with a hash, in the same time for each hash.
func (s *server) find(hash [sha256.Size]byte) *Token {
	var found *Token
	for i := range s.Tokens {
		if subtle.ConstantTimeCompare(s.Tokens[i].SHA256[:], hash[:]) == 1 {
			found = &s.Tokens[i]
		}
	}
	return found
}

// unknownToken counts a failure of the caller's address. A caller with a known token is never
// refused because of such failures.
func (c *call) unknownToken() error {
	address := addressOf(c.r.RemoteAddr)
	n := c.failures.add(address)
	if n > maxFailures {
		return &statusError{http.StatusTooManyRequests, "too many requests with unknown tokens"}
	}
	c.Logger.LogAttrs(c.r.Context(), slog.LevelWarn, "dueqhttp: unknown token", slog.String("address", address), slog.Int("failures", n))
	return &statusError{http.StatusUnauthorized, "the token is not known"}
}

// allow returns an error unless the caller's token has a scope for a queue.
func (c *call) allow(scope Scope, queue string) error {
	if c.token == nil || c.token.allows(scope, queue) {
		return nil
	}
	return &statusError{http.StatusForbidden, "the token does not allow this: it needs the scope " + string(scope) + " for this queue"}
}

const (
	maxFailures    = 20 // of an address, within failureSpan
	failureSpan    = time.Minute
	mostAddresses  = 10_000
	networkBits    = 64 // of an IPv6 address: the addresses of such a network usually belong to one caller
	addressUnknown = "unknown"
)

// failures counts requests with unknown tokens by address.
type failures struct {
	now   func() time.Time
	mu    sync.Mutex
	began time.Time // of the current span
	of    map[string]int
}

func newFailures(now func() time.Time) *failures { return &failures{now: now, of: map[string]int{}} }

// add counts a failure, and returns how many there are within the current span.
func (f *failures) add(address string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); now.Sub(f.began) >= failureSpan || len(f.of) >= mostAddresses {
		f.began = now
		clear(f.of)
	}
	f.of[address]++
	return f.of[address]
}

// addressOf returns the IP address of a caller; of IPv6 the network.
func addressOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return addressUnknown // a Unix socket has none
	}
	address := at.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	network, err := address.Prefix(networkBits)
	if err != nil {
		return addressUnknown
	}
	return network.String()
}

// sameOrigin refuses requests that a browser makes for a page of another origin.
func (s *server) sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, problem{Status: http.StatusForbidden, Code: "cross_origin", Detail: "the request comes from a page of another origin"})
	}))
	return protection.Handler(next)
}

// knownHost refuses requests for another host. A page whose name leads to the address of the
// server is of the same origin as the server for a browser, but has its own name as the host.
func (s *server) knownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.isHost(r.Host) {
			writeProblem(w, problem{Status: http.StatusMisdirectedRequest, Code: "misdirected", Detail: "the server has another name"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) isHost(host string) bool {
	if len(s.Tokens) > 0 && len(s.Hosts) == 0 {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return true
	}
	return slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}
