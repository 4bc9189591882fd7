package main

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"sync"
	"time"
)

// tls returns the configuration of TLS, nil if there is no certificate.
func (s *serving) tls(log *slog.Logger) (*tls.Config, error) {
	if s.cert == "" && s.key == "" && s.clientCA == "" {
		return nil, nil //nolint:nilnil // no TLS is no error
	}
	if s.cert == "" || s.key == "" {
		return nil, usage("--tls-cert: want it together with --tls-key")
	}
	c := &certificate{cert: s.cert, key: s.key, log: log}
	if err := c.load(); err != nil {
		return nil, usage("--tls-cert: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
	if s.clientCA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(s.clientCA)
	if err != nil {
		return nil, usage("--client-ca: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, usage("--client-ca: %s has no certificate in PEM", s.clientCA)
	}
	return config, nil
}

// certificate is the server's certificate, which is read again when its file has changed.
type certificate struct {
	cert, key string // files
	log       *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	of     time.Time // when the file was changed that was loaded
}

// load reads the certificate if its file has changed.
func (c *certificate) load() error {
	info, err := os.Stat(c.cert)
	if err != nil {
		return err
	}
	if c.loaded != nil && info.ModTime().Equal(c.of) {
		return nil
	}
	loaded, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.loaded, c.of = &loaded, info.ModTime()
	return nil
}

// get returns the certificate for a handshake. One that cannot be read, such as one of which only
// half has been written yet, does not replace the one before.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		c.log.Warn("could not read the changed certificate; the one before stays in use", slog.Any("error", err))
	}
	return c.loaded, nil
}
