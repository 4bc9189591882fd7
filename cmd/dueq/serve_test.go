package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// served is a server that runs in the process of the test.
type served struct {
	*testing.T
	url    string
	client *http.Client
	stop   func() outcome // asks it to end, and waits
}

// serve runs dueq serve on a free port.
func (s *session) serve(args ...string) *served {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	out, in := io.Pipe()
	ended := make(chan outcome, 1)
	go func() {
		got := s.write(ctx, "", in, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
		_ = in.Close()
		ended <- got
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cancel()
		s.t.Fatalf("%v: %+v", err, <-ended)
	}
	running := &served{T: s.t, url: strings.TrimSpace(line), client: &http.Client{Transport: &http.Transport{}}}
	stopped := false
	running.stop = func() outcome {
		if stopped {
			return outcome{}
		}
		stopped = true
		running.client.CloseIdleConnections()
		cancel()
		return <-ended
	}
	s.t.Cleanup(func() { running.stop() })
	return running
}

// do makes a request, and returns the status and the body of the answer.
func (s *served) do(method, path, body, secret string) (status int, answer string) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if secret != "" {
		request.Header.Set("Authorization", "Bearer "+secret)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, string(read)
}

func (s *served) want(status int, method, path, body, secret string) string {
	s.Helper()
	got, answer := s.do(method, path, body, secret)
	if got != status {
		s.Fatalf("%s %s: %d, want %d: %s", method, path, got, status, answer)
	}
	return answer
}

func TestServe_StopsWhenAskedTo(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	server := s.serve("--max-waiting", "1")
	server.want(http.StatusCreated, "POST", "/v1/queues/work/messages", `{"delay":"1h"}`, "")
	server.want(http.StatusNoContent, "GET", "/readyz", "", "")
	answered := server.oneThatWaits("work")
	began := time.Now()
	got := server.stop()
	if status := <-answered; got.code != exitOK || status != http.StatusNoContent {
		t.Errorf("exit %d, the request that waited got %d: %s", got.code, status, got.err)
	}
	if took := time.Since(began); took > 50*time.Second {
		t.Errorf("it took %s, the request would have waited for a minute", took)
	}
	if !strings.Contains(got.err, "time=") || !strings.Contains(got.err, "path=/v1/queues/work/messages status=201") {
		t.Errorf("the log has no line for a request:\n%s", got.err)
	}
}

// oneThatWaits returns the status of the answer to a request that the server has begun to serve: of two it refuses
// one when the other waits. net/http does not serve a request that it reads after it was asked to stop.
func (s *served) oneThatWaits(queue string) <-chan int {
	s.Helper()
	first, second := s.waitForMessage(queue), s.waitForMessage(queue)
	var status int
	waits := second
	select {
	case status = <-first:
	case status = <-second:
		waits = first
	}
	if status != http.StatusTooManyRequests {
		s.Fatalf("one of two that wait: status %d, want 429", status)
	}
	return waits
}

// waitForMessage sends a request that waits for a message, and returns the status of its answer,
// 0 if there is none.
func (s *served) waitForMessage(queue string) <-chan int {
	s.Helper()
	written, answered := make(chan struct{}), make(chan int, 1)
	ctx := httptrace.WithClientTrace(s.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(written) }})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/queues/"+queue+"/receive", strings.NewReader(`{"wait":"1m"}`))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	go func() {
		fresh := &http.Transport{} // with a connection of its own
		defer fresh.CloseIdleConnections()
		response, err := fresh.RoundTrip(request)
		if err != nil {
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	<-written
	return answered
}

func TestServe_RefusesAnAddressThatOthersReachWithoutTokens(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:7373", "no-such-host.invalid:0"} {
		inMemory(t).fails(exitUsage, []string{"--listen", "--token-file", "--insecure"}, "serve", "--listen", address)
	}
	inMemory(t).fails(exitUsage, []string{"--listen"}, "serve", "--listen", "7373")
	s := inMemory(t)
	server := s.serve("--listen", "0.0.0.0:0", "--insecure")
	server.want(http.StatusNoContent, "GET", "/livez", "", "")
	for _, address := range []string{"localhost:0", "[::1]:0", "127.8.8.8:0"} {
		if err := (&serving{listen: address}).checkAddress(t.Context(), false); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestServe_TokensOfTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	s := inMemory(t)
	sender := strings.TrimSpace(s.ok("token", "billing", "--scope", "produce,read", "--queue", "invoices", "--queue", "mail-*", "--token-file", file))
	admin := decode[newSecret](t, s.ok("token", "ops", "--scope", "admin", "--token-file", file, "-o", "json"))
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), sender) || !strings.HasSuffix(string(text), "\n"+admin.Line+"\n") {
		t.Errorf("the file is %s, %v", text, err)
	}
	s.fails(exitUsage, []string{"another token"}, "token", "ops", "--scope", "read", "--token-file", file)
	s.fails(exitUsage, []string{"write", "produce"}, "token", "x", "--scope", "write", "--token-file", file)
	s.fails(exitUsage, []string{"NAME"}, "token", "a b", "--scope", "read", "--token-file", file)
	server := s.serve("--token-file", file, "--listen", "0.0.0.0:0")
	server.want(http.StatusUnauthorized, "GET", "/v1/queues", "", "")
	server.want(http.StatusCreated, "POST", "/v1/queues/mail-1/messages", `{}`, sender)
	server.want(http.StatusForbidden, "POST", "/v1/queues/orders/messages", `{}`, sender)
	server.want(http.StatusCreated, "POST", "/v1/queues/orders/messages", `{}`, admin.Secret)
	if got := server.stop(); strings.Contains(got.err, sender) || !strings.Contains(got.err, "caller=billing") {
		t.Errorf("the log has a secret, or not the token's name:\n%s", got.err)
	}
}

func TestServe_TokensWithoutEncryptionAreWarnedOf(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	s := inMemory(t)
	s.ok("token", "ops", "--scope", "admin", "--token-file", file)
	for listen, warned := range map[string]bool{"0.0.0.0:0": true, "127.0.0.1:0": false} {
		server := s.serve("--token-file", file, "--listen", listen)
		if got := server.stop(); strings.Contains(got.err, "without encryption") != warned {
			t.Errorf("on %s the log is\n%s", listen, got.err)
		}
	}
}

func TestServe_FlagsWinOverVariablesOverTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, "# a comment\n\nread-only = true\nhost=a.example\nstore = mem:\n")
	for _, c := range []struct {
		env  map[string]string
		args []string
		want int // of a change
	}{
		{map[string]string{}, []string{"--config", file}, http.StatusForbidden},
		{map[string]string{"DUEQ_CONFIG": file}, nil, http.StatusForbidden},
		{map[string]string{"DUEQ_READ_ONLY": "false"}, []string{"--config", file}, http.StatusOK},
		{map[string]string{"DUEQ_READ_ONLY": "false"}, []string{"--config", file, "--read-only"}, http.StatusForbidden},
	} {
		s := &session{t: t, env: c.env}
		server := s.serve(c.args...)
		server.want(c.want, "PUT", "/v1/queues/work", `{}`, "")
		server.stop()
	}
}

func TestServe_BadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, want := range map[string]string{
		"no-such-flag = 1": "no-such-flag", "read-only": "NAME = VALUE", "read-only =": "NAME = VALUE", "read-only = perhaps": "read-only",
		"listen = a:1\nlisten = b:1": "twice", "config = x": "config", strings.Repeat("x", 70_000): "too long",
	} {
		file := filepath.Join(dir, "config")
		write(t, file, text)
		inMemory(t).fails(exitUsage, []string{want}, "serve", "--config", file)
	}
	missing := filepath.Join(dir, "missing")
	inMemory(t).fails(exitUsage, []string{"--config"}, "serve", "--config", missing)
	inMemory(t).fails(exitUsage, []string{"--max-in-flight", "0"}, "serve", "--max-in-flight", "0")
	inMemory(t).fails(exitUsage, []string{"--max-waiting", "-1"}, "serve", "--max-waiting", "-1")
	inMemory(t).fails(exitUsage, []string{"--max-connections", "0"}, "serve", "--max-connections", "0")
	inMemory(t).fails(exitUsage, []string{"--token-rate", "20/s"}, "serve", "--token-rate", "5")
	inMemory(t).fails(exitUsage, []string{"address rate"}, "serve", "--address-rate", "200000/s")
	inMemory(t).fails(exitUsage, []string{"--token-file"}, "serve", "--token-file", missing)
	inMemory(t).fails(exitUsage, []string{"--tls-cert"}, "serve", "--tls-cert", missing, "--tls-key", missing)
	inMemory(t).fails(exitUsage, []string{"--tls-key"}, "serve", "--tls-cert", missing)
	inMemory(t).fails(exitUsage, []string{"--tls-key"}, "serve", "--client-ca", missing)
	empty := filepath.Join(dir, "empty")
	write(t, empty, "# none\n")
	inMemory(t).fails(exitUsage, []string{"no token", "--token-file"}, "serve", "--token-file", empty)
	write(t, empty, "secret-without-a-hash\n")
	inMemory(t).fails(exitUsage, []string{"line 1"}, "serve", "--token-file", empty)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	inMemory(t).fails(exitUsage, []string{"in use"}, "serve", "--listen", taken.Addr().String())
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// authority signs certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.sign("authority", true)
	return a
}

// sign returns a certificate and its key.
func (a *authority) sign(name string, isCA bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: isCA, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// save writes a certificate and its key, in PEM, with a time of change.
func (a *authority) save(cert *x509.Certificate, key *ecdsa.PrivateKey, certFile, keyFile string, changed time.Time) {
	a.t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	write(a.t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})))
	write(a.t, certFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})))
	if err := os.Chtimes(certFile, changed, changed); err != nil {
		a.t.Fatal(err)
	}
}

func TestServe_TLS(t *testing.T) {
	t.Parallel()
	dir, ca := t.TempDir(), newAuthority(t)
	certFile, keyFile, caFile := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "ca")
	ca.save(ca.cert, ca.key, caFile, filepath.Join(dir, "ca-key"), time.Now())
	cert, key := ca.sign("first", false)
	ca.save(cert, key, certFile, keyFile, time.Now())
	server := inMemory(t).serve("--tls-cert", certFile, "--tls-key", keyFile, "--client-ca", caFile, "--listen", "0.0.0.0:0")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	own, ownKey := ca.sign("client", false)
	dial := func(c *tls.Config) (name string, err error) {
		c.RootCAs = pool
		conn, err := (&tls.Dialer{Config: c}).DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			return "", err
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
			return "", err
		}
		answer, err := io.ReadAll(conn)
		if !strings.Contains(string(answer), "Strict-Transport-Security: max-age=") && err == nil {
			t.Errorf("no Strict-Transport-Security: %s", answer)
		}
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName, err //nolint:forcetypeassert // of a TLS dialer
	}
	present := []tls.Certificate{{Certificate: [][]byte{own.Raw}, PrivateKey: ownKey}}
	if name, err := dial(&tls.Config{Certificates: present}); name != "first" || err != nil {
		t.Errorf("the server has the certificate %q, %v", name, err)
	}
	if _, err := dial(&tls.Config{}); err == nil {
		t.Error("a client without a certificate is served")
	}
	if _, err := dial(&tls.Config{Certificates: present, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is served")
	}
	write(t, certFile, "half of a file")
	if name, err := dial(&tls.Config{Certificates: present}); name != "first" || err != nil {
		t.Errorf("while the file is broken the server has the certificate %q, %v", name, err)
	}
	cert, key = ca.sign("second", false)
	ca.save(cert, key, certFile, keyFile, time.Now().Add(time.Hour))
	if name, err := dial(&tls.Config{Certificates: present}); name != "second" || err != nil {
		t.Errorf("after the change the server has the certificate %q, %v", name, err)
	}
}
