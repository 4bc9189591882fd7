package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestRefused_SilenceIsNoRefusal(t *testing.T) {
	t.Parallel()
	dial := func(err error) error { return fmt.Errorf("try 1: %w", &net.OpError{Op: "dial", Net: "tcp", Err: err}) }
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{io.EOF, false},
		{context.Canceled, false},
		{dial(context.DeadlineExceeded), false},
		{dial(os.ErrDeadlineExceeded), false},
		{dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)), false},
		{dial(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), false},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, false},
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), true},
		{dial(os.NewSyscallError("connect", syscall.ENOENT)), true},
		{dial(&net.DNSError{Err: "no such host", IsNotFound: true}), true},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(116)}, true},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, true},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, true},
		{errors.New("ERR something else"), false},
	} {
		if got := Refused(test.err); got != test.want {
			t.Errorf("Refused(%v) = %v, want %v", test.err, got, test.want)
		}
	}
}
