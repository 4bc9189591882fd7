package httpstore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/httpstore"
)

// pemFile writes a block to a file.
func pemFile(t *testing.T, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// clientCertificate returns a certificate that signs itself, and the files of it and its key.
func clientCertificate(t *testing.T) (made *x509.Certificate, cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "worker"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	if made, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return made, pemFile(t, "CERTIFICATE", der), pemFile(t, "EC PRIVATE KEY", encoded)
}

// A server with a certificate of its own authority asks clients for theirs. Calls and watches
// use HTTP/2.
func TestOpen_TLS(t *testing.T) {
	t.Parallel()
	client, err := dueq.NewMemory(&dueq.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	handler, err := dueqhttp.Handler(client, &dueqhttp.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	made, cert, key := clientCertificate(t)
	var older atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || r.TLS.PeerCertificates[0].Subject.CommonName != "worker" {
			older.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	authorities := x509.NewCertPool()
	authorities.AddCert(made)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authorities}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pemFile(t, "CERTIFICATE", server.Certificate().Raw)
	s := open(t, server.URL+"?"+url.Values{"ca": {ca}, "cert": {cert}, "key": {key}}.Encode())
	heard := make(chan store.EventKind, 10)
	ctx, end := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() { watched <- s.Watch(ctx, "orders", func(e store.Event) { heard <- e.Kind }) }()
	for _, want := range []store.EventKind{store.EventResync, store.EventLeft} {
		if got := <-heard; got != want {
			t.Errorf("event %s, want %s", got, want)
		}
		if err := s.Notify(t.Context(), "orders", store.Event{Kind: store.EventLeft}); err != nil {
			t.Fatal(err)
		}
	}
	end()
	if err := <-watched; err != nil || older.Load() > 0 {
		t.Errorf("watch: %v; %d requests without HTTP/2 or the certificate", err, older.Load())
	}
}

func TestOpen_FilesThatAreNotThere(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for query, field := range map[string]string{
		"ca=/nowhere": "ca", "ca=" + empty: "ca", "cert=" + empty + "&key=" + empty: "cert", "key=/nowhere": "cert", "colour=red": "url",
	} {
		_, err := httpstore.Open("https://:secret@host?"+query, httpstore.Config{})
		if e, ok := errors.AsType[*store.Error](err); !ok || e.Field != field || !errors.Is(err, store.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := httpstore.Open("http://host?ca=x", httpstore.Config{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("authorities without TLS: %v", err)
	}
	if _, err := httpstore.Open("http://host", httpstore.Config{Token: "a\nb"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a token of two lines: %v", err)
	}
}
