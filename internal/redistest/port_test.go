package redistest

import (
	"net"
	"testing"
)

func TestReservePort_NoPortTwice(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 200 {
		port, err := reservePort(t)
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] || port < firstPort || port > lastPort {
			t.Fatalf("port %d, after %v", port, seen)
		}
		seen[port] = true
		if held, err := reserve(port); err == nil {
			_ = held.Close()
			t.Fatalf("port %d was reserved twice", port)
		}
	}
}

func TestReserve_RefusesPortsInUse(t *testing.T) {
	t.Parallel()
	for _, offset := range []int{0, busOffset} {
		port, err := reservePort(t)
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", loopback(port+offset))
		if err != nil {
			t.Fatalf("a reserved port cannot be used: %v", err)
		}
		defer func() { _ = l.Close() }()
		if err := free(port); err == nil {
			t.Errorf("%d is free while %d is in use", port, port+offset)
		}
	}
}
