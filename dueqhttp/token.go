package dueqhttp

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Scope is what a token allows.
type Scope string

// The scopes.
const (
	Produce Scope = "produce" // send, cancel and reschedule
	Consume Scope = "consume" // receive and settle
	Read    Scope = "read"    // look at messages, queues and metrics
	Admin   Scope = "admin"   // everything, also redrive, purge, and change queues
)

// Token allows its holder to make some kinds of requests about some queues.
type Token struct {
	Name   string            // for the log: 1 to 64 of A-Z a-z 0-9 . _ -
	SHA256 [sha256.Size]byte // of the secret: see [NewSecret]
	Scopes []Scope           // one or more
	Queues []string          // names, or globs with * ? [a-z] as for [dueq.Worker.Handle]; none: all queues
}

// NewSecret returns a secret of 160 random bits for a [Token], and its hash.
func NewSecret() (secret string, hash [sha256.Size]byte) {
	secret = "dueq_" + strings.ToLower(rand.Text() + rand.Text())[:32]
	return secret, sha256.Sum256([]byte(secret))
}

// String returns the line of t in a file of tokens: see [ParseTokens].
func (t Token) String() string {
	scopes := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		scopes[i] = string(s)
	}
	line := t.Name + " sha256:" + hex.EncodeToString(t.SHA256[:]) + " " + strings.Join(scopes, ",")
	if len(t.Queues) > 0 {
		line += " " + strings.Join(t.Queues, ",")
	}
	return line
}

const (
	maxTokens     = 10_000
	maxTokenLine  = 16 << 10
	maxTokenName  = 64
	tokenHash     = "sha256:"
	fewestColumns = 3
	mostColumns   = 4
)

// ParseTokens reads tokens, one a line: a name, the hash of the secret, the scopes, and the queues
// if it is not for all, such as
//
//	billing sha256:9f86d0...0f00a08 produce,read invoices,mail-*
//
// Empty lines, and those that begin with #, are ignored. Errors: [dueq.ErrInvalid] with the number
// of the line, and without its text, which may be a secret.
func ParseTokens(r io.Reader) ([]Token, error) {
	var tokens []Token
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxTokenLine)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		t, err := parseToken(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		tokens = append(tokens, t)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	return tokens, checkTokens(tokens)
}

func parseToken(line string) (t Token, err error) {
	columns := strings.Fields(line)
	if len(columns) < fewestColumns || len(columns) > mostColumns {
		return t, invalid("token", "%d columns, want NAME sha256:HASH SCOPES [QUEUES]", len(columns))
	}
	t.Name = columns[0]
	text, ok := strings.CutPrefix(columns[1], tokenHash)
	hash, err := hex.DecodeString(text)
	if !ok || err != nil || len(hash) != len(t.SHA256) {
		return t, invalid("token", "the second column is not %s and %d hexadecimal digits", tokenHash, 2*sha256.Size)
	}
	copy(t.SHA256[:], hash)
	for s := range strings.SplitSeq(columns[2], ",") {
		t.Scopes = append(t.Scopes, Scope(s))
	}
	if len(columns) == mostColumns {
		t.Queues = strings.Split(columns[3], ",")
	}
	return t, t.check()
}

func (t *Token) check() error {
	if t.Name == "" || len(t.Name) > maxTokenName || strings.ContainsFunc(t.Name, notInTokenName) {
		return invalid("token", "the name is not 1 to %d letters, digits, '.', '_', '-'", maxTokenName)
	}
	if len(t.Scopes) == 0 {
		return invalid("token", "%s has no scope", t.Name)
	}
	for _, s := range t.Scopes {
		if !slices.Contains([]Scope{Produce, Consume, Read, Admin}, s) {
			return invalid("token", "%s: scope %+.20q is none of produce, consume, read, admin", t.Name, string(s))
		}
	}
	for _, pattern := range t.Queues {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return invalid("token", "%s: %+.64q is neither a name nor a pattern of queues", t.Name, pattern)
		}
	}
	return nil
}

func notInTokenName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}

// checkTokens returns an error for a token that is invalid, or has the name or secret of another.
func checkTokens(tokens []Token) error {
	if len(tokens) > maxTokens {
		return invalid("token", "%d tokens, the limit is %d", len(tokens), maxTokens)
	}
	names, hashes := map[string]bool{}, map[[sha256.Size]byte]bool{}
	for i := range tokens {
		t := &tokens[i]
		if err := t.check(); err != nil {
			return err
		}
		if names[t.Name] || hashes[t.SHA256] {
			return invalid("token", "%s has the name or the secret of another token", t.Name)
		}
		names[t.Name], hashes[t.SHA256] = true, true
	}
	return nil
}

// allows reports whether the token has a scope for a queue; "" is any queue.
func (t *Token) allows(scope Scope, queue string) bool {
	if !slices.Contains(t.Scopes, scope) && !slices.Contains(t.Scopes, Admin) {
		return false
	}
	if queue == "" || len(t.Queues) == 0 {
		return true
	}
	return slices.ContainsFunc(t.Queues, func(pattern string) bool {
		ok, err := path.Match(pattern, queue)
		return ok && err == nil
	})
}
