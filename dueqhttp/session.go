package dueqhttp

import (
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

const (
	sessionCookie = "dueq_session"
	sessionSpan   = 12 * time.Hour
)

// session is what the dashboard needs to know about its caller.
type session struct {
	Name     string   `json:"name,omitempty"` // of the token; missing: the server has no tokens
	Scopes   []Scope  `json:"scopes"`
	Queues   []string `json:"queues"` // patterns; none: all queues
	ReadOnly bool     `json:"read_only"`
	Build    string   `json:"build"` // of the dashboard that the server has now
}

// signIn is a request for a session.
type signIn struct {
	Token string `json:"token"`
}

// serveSession returns what the caller may do.
func serveSession(c *call) error {
	err := c.onlyQuery()
	if err == nil {
		err = c.authenticate()
	}
	if err != nil {
		return err
	}
	return c.answerSession()
}

func (c *call) answerSession() error {
	answer := session{Scopes: []Scope{Admin}, Queues: []string{}, ReadOnly: c.ReadOnly, Build: c.dashboard.build}
	if c.token != nil {
		answer.Name, answer.Scopes, answer.Queues = c.token.Name, c.token.Scopes, append(answer.Queues, c.token.Queues...)
	}
	return c.answer(http.StatusOK, answer)
}

// serveSignIn begins a session. The cookie has the secret itself: so every server with the same
// tokens accepts it, also after a restart, and a token that is revoked ends its sessions.
func serveSignIn(c *call) error {
	var s signIn
	if err := c.read(&s); err != nil {
		return err
	}
	if len(c.Tokens) == 0 {
		return c.answerSession()
	}
	if s.Token == "" {
		return invalid("token", "is missing")
	}
	if err := c.present(s.Token); err != nil {
		return err
	}
	http.SetCookie(c.w, c.cookie(base64.RawURLEncoding.EncodeToString([]byte(s.Token)), int(sessionSpan/time.Second)))
	return c.answerSession()
}

// serveSignOut ends a session.
func serveSignOut(c *call) error {
	if err := c.read(&struct{}{}); err != nil {
		return err
	}
	http.SetCookie(c.w, c.cookie("", -1))
	return c.empty()
}

// cookie returns a session's cookie. It has no path: that of the request without its last part is
// where the handler is mounted, which only the browser knows.
func (c *call) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure depends on how the page was loaded
		Name: sessionCookie, Value: value, MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// Origin is the page's address as the browser sees it, also behind a proxy that ends TLS.
		Secure: c.r.TLS != nil || strings.HasPrefix(c.r.Header.Get("Origin"), "https://"),
	}
}

// sessionSecret returns the secret in the caller's cookie; "" if there is none.
func (c *call) sessionSecret() string {
	cookie, err := c.r.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	secret, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return ""
	}
	return string(secret)
}
