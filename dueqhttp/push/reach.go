package push

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// errForbidden is the error of an address that requests may not reach.
var errForbidden = errors.New("the address is not public and not allowed")

// Limits of the transport.
const (
	connectTimeout  = 10 * time.Second
	idleTimeout     = 90 * time.Second
	maxIdle         = 100 // connections
	maxAnswerHeader = 64 << 10
)

// newTransport returns a transport for one target. It follows no redirects, as every transport,
// does not decompress answers, and has no proxy, which would connect to addresses unchecked.
func newTransport(allowed []netip.Prefix) http.RoundTripper {
	dialer := &net.Dialer{
		Timeout: connectTimeout,
		// Called with each address before the connection is made. So it makes no difference what a
		// name meant earlier.
		Control: func(_, address string, _ syscall.RawConn) error { return checkAddress(address, allowed) },
	}
	return &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableCompression: true,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: connectTimeout,
		MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTimeout,
		MaxResponseHeaderBytes: maxAnswerHeader,
	}
}

// checkAddress returns an error unless requests may reach an address, which has a port.
func checkAddress(address string, allowed []netip.Prefix) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s: %w", address, errForbidden)
	}
	ip := at.Addr().Unmap().WithZone("")
	if isPublic(ip) || slices.ContainsFunc(allowed, func(n netip.Prefix) bool { return n.Contains(ip) }) {
		return nil
	}
	return fmt.Errorf("%s: %w", ip, errForbidden)
}

// isPublic reports whether an address is one of the Internet: not one of a machine itself, of a
// private network, or of a purpose of its own (the registries of IANA for special addresses).
func isPublic(ip netip.Addr) bool {
	if ip.Is4() {
		return !slices.ContainsFunc(special4(), func(n netip.Prefix) bool { return n.Contains(ip) })
	}
	return network(0x20, 0, 0, 0, 3).Contains(ip) && !slices.ContainsFunc(special6(), func(n netip.Prefix) bool { return n.Contains(ip) })
}

// special4 returns the networks of IPv4 that are not public.
func special4() []netip.Prefix {
	v4 := func(a, b, c byte, bits int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{a, b, c, 0}), bits)
	}
	return []netip.Prefix{
		v4(0, 0, 0, 8),                            // this network
		v4(10, 0, 0, 8),                           // private
		v4(100, 64, 0, 10),                        // behind a carrier's NAT
		v4(127, 0, 0, 8),                          // loopback
		v4(169, 254, 0, 16),                       // link-local, where clouds have their metadata
		v4(172, 16, 0, 12),                        // private
		v4(192, 0, 0, 24),                         // protocols
		v4(192, 0, 2, 24),                         // documentation
		v4(192, 88, 99, 24),                       // relays to IPv6
		v4(192, 168, 0, 16),                       // private
		v4(198, 18, 0, 15),                        // benchmarks
		v4(198, 51, 100, 24), v4(203, 0, 113, 24), // documentation
		v4(224, 0, 0, 3), // multicast, reserved, broadcast
	}
}

// special6 returns the networks within 2000::/3 that are not public. Outside of it nothing is:
// loopback, link-local and private addresses, and those with an address of IPv4 inside for NAT64.
func special6() []netip.Prefix {
	return []netip.Prefix{
		network(0x20, 0x01, 0x00, 0x00, 23), // protocols, among them Teredo, which has addresses of IPv4
		network(0x20, 0x01, 0x0d, 0xb8, 32), // documentation
		network(0x20, 0x02, 0x00, 0x00, 16), // 6to4, which has addresses of IPv4
		network(0x3f, 0xff, 0x00, 0x00, 20), // documentation
	}
}

func network(a, b, c, d byte, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{a, b, c, d}), bits)
}
