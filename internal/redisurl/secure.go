package redisurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// files are the options of a URL that name files, with what belongs in no URL.
type files struct {
	ca, cert, key string
}

// popFiles removes the options that name files from the query. The password in password_file
// becomes that of the URL.
func (a *URL) popFiles() (files, error) {
	var f files
	f.ca, _ = a.Pop("ca")
	f.cert, _ = a.Pop("cert")
	f.key, _ = a.Pop("key")
	if (f.cert == "") != (f.key == "") {
		return f, errors.New("cert and key: has one of them, want both or none")
	}
	name, ok := a.Pop("password_file")
	if !ok {
		return f, nil
	}
	if _, twice := a.user.Password(); twice {
		return f, errors.New("password_file: is given together with a password, want one of them")
	}
	text, err := os.ReadFile(name) //nolint:gosec // the user names the file
	if err != nil {
		return f, fmt.Errorf("password_file: %w", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" {
		return f, fmt.Errorf("password_file: %s is empty", name)
	}
	a.user = url.UserPassword(a.user.Username(), password)
	return f, nil
}

// configure adds the certificates to the configuration of TLS, which is nil for a URL without TLS.
func (f files) configure(secure *tls.Config) error {
	if f == (files{}) {
		return nil
	}
	if secure == nil {
		return errors.New("ca, cert and key: are for TLS, want rediss://, or tls=true for Sentinels and a Cluster")
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return fmt.Errorf("ca: %w", err)
		}
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca: %s has no certificate in PEM", f.ca)
		}
	}
	if f.cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return fmt.Errorf("cert: %w", err)
	}
	secure.Certificates = []tls.Certificate{pair}
	return nil
}
