package main

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// files signs a certificate, and returns the files of it and its key. That of "ca" is its own.
func (a *authority) files(dir, name string) (cert, key string) {
	a.t.Helper()
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	signed, secret := a.cert, a.key
	if name != "ca" {
		signed, secret = a.sign(name, false)
	}
	a.save(signed, secret, cert, key, time.Now())
	return cert, key
}

// secured returns the address of a Redis that wants a password, and over TLS a certificate.
func secured(t *testing.T, ca, cert, key string) string {
	t.Helper()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	rdb := withPassword(t, "sesame").Client(t)
	args := []any{"config", "set", "tls-port", port, "tls-cert-file", cert, "tls-key-file", key, "tls-ca-cert-file", ca}
	conn := rdb.Conn()
	defer func() { _ = conn.Close() }()
	if err := conn.Auth(t.Context(), "sesame").Err(); err != nil {
		t.Fatal(err)
	}
	if err := conn.Do(t.Context(), args...).Err(); err != nil {
		t.Skipf("SKIPPED: this server has no TLS: %v", err)
	}
	return "127.0.0.1:" + port
}

// A Redis with TLS that wants a client certificate and a password is used with files only: by flags,
// by variables and by options of the URL.
func TestStoreFiles_CertificatesAndPasswordOfARedis(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	ca, _ := a.files(dir, "ca")
	cert, key := a.files(dir, "server")
	mine, mineKey := a.files(dir, "client")
	password := filepath.Join(dir, "password")
	write(t, password, "sesame\n")
	store := "rediss://" + secured(t, ca, cert, key)
	flags := []string{"--store-ca", ca, "--store-cert", mine, "--store-key", mineKey, "--store-password-file", password}

	s := &session{t: t, env: map[string]string{"DUEQ_STORE": store}}
	s.ok(append([]string{"queue", "create", "-q", "q"}, flags...)...)
	variables := map[string]string{
		"DUEQ_STORE": store, "DUEQ_STORE_CA": ca, "DUEQ_STORE_CERT": mine, "DUEQ_STORE_KEY": mineKey, "DUEQ_STORE_PASSWORD_FILE": password,
	}
	(&session{t: t, env: variables}).ok("stats", "-q", "q")
	s.ok("stats", "-q", "q", "--store", store+"?ca="+ca+"&cert="+mine+"&key="+mineKey+"&password_file="+password)

	for name, test := range map[string]struct {
		args  []string
		code  int
		texts []string
	}{
		"no authority":   {flags[2:], exitUnavailable, []string{"x509"}},
		"no certificate": {append(flags[:2:2], flags[6:]...), exitUnavailable, []string{"certificate required"}},
		"no password":    {flags[:6], exitUnavailable, []string{"NOAUTH"}},
		"no key":         {flags[:4], exitUsage, []string{"cert and key"}},
		"missing file":   {append(flags[:6:6], "--store-password-file", password+".typo"), exitUsage, []string{"password_file", password + ".typo"}},
		"wrong file":     {append([]string{"--store-ca", password}, flags[2:]...), exitUsage, []string{"ca: ", "PEM"}},
		"empty name":     {[]string{"--store-ca", ""}, exitUsage, []string{"--store-ca", "empty"}},
		"twice":          {append([]string{"--store", store + "?ca=" + ca}, flags...), exitUsage, []string{"--store-ca", "URL"}},
		"no TLS":         {append([]string{"--store", strings.Replace(store, "rediss", "redis", 1)}, flags...), exitUsage, []string{"rediss://"}},
		"two passwords":  {append([]string{"--store", strings.Replace(store, "//", "//:hunter2@", 1)}, flags...), exitUsage, []string{"password_file"}},
		"other store":    {[]string{"--store", "mem:", "--store-password-file", password}, exitUsage, []string{"--store-password-file", "mem:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			(&session{t: t, env: s.env}).fails(test.code, test.texts, append([]string{"stats"}, test.args...)...)
		})
	}
}

// Where one side waits for TLS and the other does not speak it, neither says why there is no answer.
func TestOpen_SaysThatTheURLIsWrongAboutTLS(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	ca, _ := a.files(dir, "ca")
	cert, key := a.files(dir, "server")
	plain, secured := withPassword(t, "sesame").Addr(), secured(t, ca, cert, key)
	for store, want := range map[string]string{
		"rediss://" + plain:                         "no TLS at this port: use redis:// instead",
		"redis+cluster://" + plain + "?tls=true":    "no TLS at this port: leave out tls=true",
		"redis://" + secured:                        "wants TLS at this port: use rediss:// instead",
		"redis+sentinel://" + secured + "/mymaster": "wants TLS at this port: add tls=true",
	} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			(&session{t: t}).fails(exitUnavailable, []string{want}, "stats", "--store", store)
		})
	}
	got := (&session{t: t}).run("stats", "--store", "rediss://"+secured)
	if got.code != exitUnavailable || strings.Contains(got.err, "at this port") {
		t.Errorf("only the certificate is unknown: exit code %d, %s", got.code, got.err)
	}
}
