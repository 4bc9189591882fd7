package push

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestHandler_ReachesPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "169.254.169.254",
		"172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1",
		"fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "4000::1",
	} {
		if err := checkAddress(net.JoinHostPort(address, "80"), nil); !errors.Is(err, errForbidden) {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{
		"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1", "169.253.255.255",
		"172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"::ffff:1.1.1.1", "2001:4860:4860::8888", "2606:4700::1111", "2a00::1", "2003::1", "3ffe::1",
	} {
		if err := checkAddress(net.JoinHostPort(address, "80"), nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := checkAddress("no address", nil); !errors.Is(err, errForbidden) {
		t.Errorf("what is no address: %v", err)
	}
}

// Nothing is connected to, whatever the text of the URL and whatever the name leads to.
func TestHandler_PrivateEndpointIsNotReached(t *testing.T) {
	t.Parallel()
	url, requests := endpoint(t, func(http.ResponseWriter, *http.Request) {})
	port := url[strings.LastIndex(url, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "127.1.2.3", "0.0.0.0", "[::ffff:127.0.0.1]", "[::]", "[::ffff:7f00:1]"} {
		err := post(t.Context(), handler(t, Target{URL: "http://" + host + port}))
		if !errors.Is(err, errForbidden) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if n := requests(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestHandler_AllowedEndpointIsReached(t *testing.T) {
	t.Parallel()
	url, requests := endpoint(t, func(http.ResponseWriter, *http.Request) {})
	port := url[strings.LastIndex(url, ":"):]
	for n, c := range []struct{ host, allow string }{
		{"127.0.0.1", "127.0.0.0/8"},
		{"127.0.0.1", "127.0.0.1"},
		{"127.0.0.1", "::ffff:127.0.0.1"},
		{"[::ffff:127.0.0.1]", "127.0.0.1/32"},
		{"localhost", "LocalHost"},
		{"127.0.0.1", "127.3.3.3/8"},
	} {
		if err := post(t.Context(), handler(t, Target{URL: "http://" + c.host + port, Allow: []string{c.allow}})); err != nil || requests() != n+1 {
			t.Errorf("%s, allowed is %s: %v, %d requests", c.host, c.allow, err, requests())
		}
	}
	for _, allow := range []string{"10.0.0.0/8", "127.0.0.2", "::1"} {
		err := post(t.Context(), handler(t, Target{URL: url, Allow: []string{allow}}))
		if !errors.Is(err, errForbidden) {
			t.Errorf("allowed is %s: %v", allow, err)
		}
	}
}

// A name may lead to a public address when it is looked up first, and to a private one later. So
// the address of each connection is checked, and allowing a network allows no other.
func TestCheckAddress_EachConnection(t *testing.T) {
	t.Parallel()
	allowed, err := parseAllowed([]string{"10.1.0.0/16"}, "shop.example")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{"1.1.1.1:443": true, "10.1.2.3:443": true, "[::ffff:10.1.2.3]:443": true, "10.2.0.1:443": false, "127.0.0.1:443": false} {
		if err := checkAddress(address, allowed); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestHandler_RedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	inner, reached := endpoint(t, func(http.ResponseWriter, *http.Request) {})
	for _, status := range []int{301, 302, 303, 307, 308} {
		url, _ := endpoint(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inner, status) })
		if err := post(t.Context(), handler(t, Target{URL: url, Allow: []string{"127.0.0.1"}})); err == nil {
			t.Errorf("%d is no failure", status)
		}
	}
	if n := reached(); n != 0 {
		t.Errorf("%d requests arrived at the other endpoint", n)
	}
}

// A proxy would make the connections, unchecked.
func TestTransport_UsesNoProxy(t *testing.T) {
	t.Parallel()
	transport, ok := newTransport([]netip.Prefix{}).(*http.Transport)
	if !ok || transport.Proxy != nil {
		t.Error("there is a proxy")
	}
}
