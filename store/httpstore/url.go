package httpstore

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/dueq-dev/dueq/store"
)

// address is a URL taken apart.
type address struct {
	server string
	token  string
	socket string // path of a Unix socket; "": none
	tls    *tls.Config
}

// Schemes of URLs.
const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
	schemeUnix  = "http+unix"
)

// parse reads a URL. Its errors have no part of the URL that could be a token.
func parse(text string, c Config) (*address, error) {
	a := &address{token: c.Token, tls: c.TLS}
	if rest, ok := strings.CutPrefix(text, schemeUnix+":"); ok {
		a.server, a.socket = "http://localhost", strings.TrimPrefix(rest, "//")
		if a.socket == "" {
			return nil, store.Invalid("url", "want the path of a socket, as in http+unix:///run/dueq.sock")
		}
		return a, a.checkToken()
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, store.Invalid("url", "cannot be read: escape special characters of the token with %%XX")
	}
	switch {
	case u.Scheme != schemeHTTP && u.Scheme != schemeHTTPS:
		return nil, store.Invalid("url", "%.20q is none of http, https, http+unix", u.Scheme)
	case u.Hostname() == "" || u.Opaque != "":
		return nil, store.Invalid("url", "want a host, as in http://localhost:7373")
	case u.Fragment != "":
		return nil, store.Invalid("url", "has a part behind #")
	}
	if u.User != nil {
		secret, ok := u.User.Password()
		if !ok || u.User.Username() != "" {
			return nil, store.Invalid("url", "want the token behind a colon, as in https://:TOKEN@host")
		}
		a.token = secret
	}
	if err := a.takeQuery(u); err != nil {
		return nil, err
	}
	a.server = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(path.Clean("/"+u.Path), "/")}).String()
	return a, a.checkToken()
}

// checkToken refuses a token that cannot be sent in a header.
func (a *address) checkToken() error {
	if strings.ContainsFunc(a.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return store.Invalid("token", "has characters that no token has")
	}
	return nil
}

// takeQuery reads the files that the query names.
func (a *address) takeQuery(u *url.URL) error {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return store.Invalid("url", "the query cannot be read")
	}
	for name := range values {
		if name != "ca" && name != "cert" && name != "key" {
			return store.Invalid("url", "%.20q is none of ca, cert, key", name)
		}
	}
	if len(values) == 0 {
		return nil
	}
	if u.Scheme != schemeHTTPS {
		return store.Invalid("url", "ca, cert and key are for https")
	}
	a.tls = cmp.Or(a.tls, &tls.Config{MinVersion: tls.VersionTLS12}).Clone()
	return cmp.Or(a.takeAuthorities(values.Get("ca")), a.takeCertificate(values.Get("cert"), values.Get("key")))
}

func (a *address) takeAuthorities(file string) error {
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file) //nolint:gosec // the file that the user named
	if err != nil {
		return store.Invalid("ca", "%w", err)
	}
	a.tls.RootCAs = x509.NewCertPool()
	if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
		return store.Invalid("ca", "%s has no certificate in PEM", file)
	}
	return nil
}

func (a *address) takeCertificate(cert, key string) error {
	if cert == "" && key == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return store.Invalid("cert", "%w", err)
	}
	a.tls.Certificates = []tls.Certificate{pair}
	return nil
}
