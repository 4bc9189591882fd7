// Package reach has what a program that cannot wait asks of the first call to a store: to fail at
// once where the server refuses it, and to repeat it only while there is no answer.
package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
)

type atOnce struct{}

// AtOnce returns a context for opening a store: what Refused holds for is an error at once.
func AtOnce(ctx context.Context) context.Context { return context.WithValue(ctx, atOnce{}, true) }

// IsAtOnce reports whether ctx is of AtOnce.
func IsAtOnce(ctx context.Context) bool { return ctx.Value(atOnce{}) != nil }

// Refused reports whether err is the reason why a connection cannot be made, as opposed to
// silence: there is no such host or socket, nothing listens there, or no TLS can be agreed on.
func Refused(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	if host, ok := errors.AsType[*net.DNSError](err); ok {
		return host.IsNotFound
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return !op.Timeout() && (op.Op == "dial" || op.Op == "remote error") // crypto/tls calls alerts "remote error"
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	return untrusted || plain
}
