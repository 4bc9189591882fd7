package push

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
)

// Target is an HTTP endpoint, and how messages are posted to it.
type Target struct {
	// URL of the endpoint: http or https, without a user and a fragment. It may have secrets:
	// errors and failure texts have only its host.
	URL string
	// Secrets sign the requests: "whsec_" and 24 to 64 random bytes in base 64. A request has a
	// signature for each, so that a new secret can be added before the old one is removed.
	// Default none: requests are not signed.
	Secrets []string
	// ContentType of requests for messages without a header Content-Type. Default
	// application/octet-stream.
	ContentType string
	// Timeout is how long a request may take, its answer included: 1 s to 30 min. Default 15 s.
	// The consumer's lease should be longer: if the lease of a message ends, its request may
	// still run when the next one begins.
	Timeout time.Duration
	// Rate is how many requests begin in a second, evenly distributed: up to 100,000. It is that
	// of one handler; each process has its own. Default 0: no limit.
	Rate float64
	// Reject are the statuses, of 400 to 499, that make a message a dead letter at once. Default
	// none: they are failures as all others.
	Reject []int
	// Allow are the addresses that requests may reach although they are not public: networks such
	// as 10.1.0.0/16, addresses, or the host of URL, which allows all addresses that this name
	// has. Default none.
	Allow []string
	// Transport makes the requests. Default: one of the handler's own, which checks each address
	// before it connects to it, and uses no proxy. Another one does not know Allow.
	Transport http.RoundTripper
}

// Limits of a Target.
const (
	defaultTimeout = 15 * time.Second
	minTimeout     = time.Second
	maxTimeout     = 30 * time.Minute
	maxRate        = 100_000
	minSecret      = 24 // bytes
	maxSecret      = 64
	secretPrefix   = "whsec_"

	defaultContentType = "application/octet-stream"
)

// Handler returns a handler that posts messages to t. An answer of 200 to 299 acks the message.
// 429 and 503 with a Retry-After put it off for that long, from 1 s to 24 h, without a failure.
// Everything else is a failure, with the status and the beginning of the answer as its text; that
// includes redirects, which are not followed. See docs/HTTP.md for the headers of a request.
//
// The handler is safe for concurrent use. Errors: [dueq.ErrInvalid] for a field of t, without the
// values of URL and Secrets.
func Handler(t Target) (dueq.Handler, error) {
	p, err := newPoster(t)
	if err != nil {
		return nil, err
	}
	return p.handle, nil
}

// poster posts messages to a target.
type poster struct {
	Target
	host    string // without the port, for failure texts
	secrets [][]byte
	pace    *pace // nil: no limit
}

func newPoster(t Target) (*poster, error) {
	p := &poster{Target: t}
	if p.Timeout == 0 {
		p.Timeout = defaultTimeout
	}
	if p.ContentType == "" {
		p.ContentType = defaultContentType
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	allowed, err := p.checkAddresses()
	if err != nil {
		return nil, err
	}
	for i, text := range t.Secrets {
		secret, err := parseSecret(text)
		if err != nil {
			return nil, invalid("secrets", "number %d %w", i+1, err)
		}
		p.secrets = append(p.secrets, secret)
	}
	if p.Rate > 0 {
		p.pace = &pace{every: time.Duration(math.Ceil(float64(time.Second) / p.Rate))}
	}
	if p.Transport == nil {
		p.Transport = newTransport(allowed)
	}
	return p, nil
}

// check returns an error for a field that stands alone.
func (p *poster) check() error {
	if p.Timeout < minTimeout || p.Timeout > maxTimeout {
		return invalid("timeout", "%s is outside %s to %s", p.Timeout, minTimeout, maxTimeout)
	}
	if !(p.Rate >= 0 && p.Rate <= maxRate) || p.Rate > 0 && p.Rate < minRate {
		return invalid("rate", "%g is outside %g to %d requests per second", p.Rate, minRate, maxRate)
	}
	if strings.ContainsFunc(p.ContentType, func(r rune) bool { return r < ' ' || r > '~' }) {
		return invalid("content type", "%+.64q is not printable ASCII", p.ContentType)
	}
	for _, status := range p.Reject {
		if status < http.StatusBadRequest || status >= http.StatusInternalServerError {
			return invalid("reject", "%d is outside 400 to 499", status)
		}
	}
	return nil
}

// minRate is one request in 24 hours: the pace is a span of time.
const minRate = 1.0 / (24 * 60 * 60)

// isPort reports whether an HTTP server may listen on a port: 0 is none, and others belong to
// services that may take the lines of a request for commands.
func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && !slices.Contains([]uint64{0, 22, 23, 25, 465, 587, 6379}, port)
}

// checkAddresses checks the URL and Allow, and returns the networks to which requests may go
// although they are not public.
func (p *poster) checkAddresses() ([]netip.Prefix, error) {
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Opaque != "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, invalid("url", "is not the URL of an HTTP endpoint") // without its text, which may be secret
	}
	if u.User != nil || u.Fragment != "" {
		return nil, invalid("url", "has a user or a fragment, want neither")
	}
	p.host = u.Hostname()
	if port := u.Port(); port != "" && !isPort(port) {
		return nil, invalid("url", "port %.16s is not one of an HTTP server", port)
	}
	return parseAllowed(p.Allow, p.host)
}

// parseAllowed parses the networks, addresses and names that a target allows.
func parseAllowed(texts []string, host string) ([]netip.Prefix, error) {
	var allowed []netip.Prefix
	for _, text := range texts {
		if network, err := netip.ParsePrefix(text); err == nil {
			allowed = append(allowed, network.Masked())
			continue
		}
		if address, err := netip.ParseAddr(text); err == nil {
			address = address.Unmap().WithZone("")
			allowed = append(allowed, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		if !strings.EqualFold(text, host) {
			return nil, invalid("allow", "%+.64q is neither a network nor an address nor the host of the URL", text)
		}
		allowed = append(allowed, netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0))
	}
	return allowed, nil
}

// parseSecret decodes a secret. The error does not have it.
func parseSecret(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		return nil, fmt.Errorf("does not begin with %s", secretPrefix)
	}
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("is not %s and base 64", secretPrefix)
	}
	if len(secret) < minSecret || len(secret) > maxSecret {
		return nil, fmt.Errorf("has %d bytes, want %d to %d", len(secret), minSecret, maxSecret)
	}
	return secret, nil
}

// invalid returns an error for a field, with ErrInvalid.
func invalid(field, format string, args ...any) error {
	return &dueq.Error{Op: "push", Field: field, Err: fmt.Errorf(format+": %w", append(args, dueq.ErrInvalid)...)}
}

// handle posts a message.
func (p *poster) handle(ctx context.Context, d *dueq.Delivery) error {
	if p.pace != nil {
		if err := p.pace.wait(ctx); err != nil {
			return err
		}
	}
	within, end := context.WithTimeout(ctx, p.Timeout)
	defer end()
	request, err := p.request(within, d, time.Now())
	if err != nil {
		return err
	}
	response, err := p.Transport.RoundTrip(request)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: no answer within %s", p.host, p.Timeout)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.host, err)
	}
	defer func() { _ = response.Body.Close() }() // what the answer says is known
	return p.verdict(response)
}
