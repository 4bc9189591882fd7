package store

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ValidateQueue returns an *Error of kind ErrInvalid unless name is 1 to MaxQueueName characters
// of A-Z a-z 0-9 . _ - and begins with a letter or a digit. So a name cannot contain a Redis hash
// tag, a glob, a path or a control character.
func ValidateQueue(name string) error {
	if name == "" {
		return Invalid("queue", "the name is empty")
	}
	if len(name) > MaxQueueName {
		return Invalid("queue", "the name has %d bytes, the limit is %d", len(name), MaxQueueName)
	}
	for i := range len(name) {
		if c := name[i]; !isAlnum(c) && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return Invalid("queue", "%s: want letters, digits, '.', '_', '-', a letter or digit first", quote(name))
		}
	}
	return nil
}

// ValidateKey returns an *Error of kind ErrInvalid unless key is 1 to MaxKey bytes of
// printable UTF-8.
func ValidateKey(key string) error {
	switch {
	case key == "":
		return Invalid("key", "is empty")
	case len(key) > MaxKey:
		return Invalid("key", "%d bytes, the limit is %d", len(key), MaxKey)
	case !printable(key):
		return Invalid("key", "%s has characters that are not printable UTF-8", quote(key))
	}
	return nil
}

// Validate returns an *Error of kind ErrInvalid unless exactly one of ID and Key is
// set and the key is valid.
func (r Ref) Validate() error {
	if r.ID.IsZero() {
		return ValidateKey(r.Key)
	}
	if r.Key != "" {
		return Invalid("ref", "has an id and a key, want one of them")
	}
	return nil
}

// Size returns the bytes that a message counts against MaxBatchBytes.
func (m *Message) Size() int {
	return len(m.Key) + len(m.Repeat) + headerSize(m.Headers) + len(m.Body)
}

// Validate returns an *Error of kind ErrInvalid or ErrTooLarge for the first thing wrong with m.
// It checks the body against MaxBody; ValidateBody checks it against the limit of a queue.
func (m *Message) Validate() error {
	if m.ID.IsZero() {
		return Invalid("id", "is missing")
	}
	return m.ValidateContent()
}

// ValidateContent is Validate for a message that has no id yet.
func (m *Message) ValidateContent() error {
	if m.Key != "" {
		if err := ValidateKey(m.Key); err != nil {
			return err
		}
	}
	if err := validateHeaders(m.Headers); err != nil {
		return err
	}
	if err := m.ValidateBody(MaxBody); err != nil {
		return err
	}
	if err := validateDue(m.Due, m.Delay); err != nil {
		return err
	}
	if m.Repeat != "" {
		return cmp.Or(m.validateRepeat(), m.validateLife())
	}
	return m.validateLife()
}

// ValidateBody returns an *Error of kind ErrTooLarge for a body of more than maxBody bytes, the
// queue's Settings.MaxBody.
func (m *Message) ValidateBody(maxBody int) error {
	if len(m.Body) > maxBody {
		return tooLarge("body", "%d bytes, the limit is %d", len(m.Body), maxBody)
	}
	return nil
}

func (m *Message) validateLife() error {
	switch {
	case m.MaxAttempts < 1 || m.MaxAttempts > MaxAttempts:
		return Invalid("max attempts", "%d is outside 1 to %d", m.MaxAttempts, MaxAttempts)
	case m.Replace && m.Key == "":
		return Invalid("replace", "needs a key")
	case m.Remember < 0 || m.Remember > MaxRemember:
		return Invalid("dedup for", "%d ms is outside 0 to %d ms (24 h)", m.Remember, int64(MaxRemember))
	}
	return validateTTL(m.TTL, m.Delay)
}

func (m *Message) validateRepeat() error {
	switch {
	case m.Key == "":
		return Invalid("repeat", "needs a key, by which the message can be declared again")
	case m.TTL != 0:
		return Invalid("ttl", "%d ms together with repeat: a TTL would end all occurrences", m.TTL)
	}
	return ValidateRepeat(m.Repeat)
}

// ValidateRepeat returns an *Error of kind ErrInvalid unless text is 1 to MaxRepeat bytes of
// printable ASCII, a letter of a-z first. The letter distinguishes a schedule from a number, in
// whose place a store may keep it.
func ValidateRepeat(text string) error {
	switch {
	case len(text) > MaxRepeat:
		return Invalid("repeat", "%d bytes, the limit is %d", len(text), MaxRepeat)
	case text == "" || text[0] < 'a' || text[0] > 'z':
		return Invalid("repeat", "%s does not begin with a letter of a-z", quote(text))
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return Invalid("repeat", "%s has characters that are not printable ASCII", quote(text))
	}
	return nil
}

func validateTTL(ttl, delay int64) error {
	if ttl < 0 || ttl > 2*MaxDelay {
		return Invalid("ttl", "%d ms is outside 0 to %d ms", ttl, int64(2*MaxDelay))
	}
	if ttl > 0 && ttl <= delay {
		return Invalid("ttl", "%d ms ends before the delay of %d ms", ttl, delay)
	}
	return nil
}

func validateHeaders(headers map[string]string) error {
	if len(headers) > MaxHeaders {
		return Invalid("headers", "%d headers, the limit is %d", len(headers), MaxHeaders)
	}
	if n := headerSize(headers); n > MaxHeaderSize {
		return Invalid("headers", "%d bytes, the limit is %d", n, MaxHeaderSize)
	}
	for name, value := range headers {
		if !headerName(name) {
			return Invalid("headers", "name %s: want letters, digits and any of !#$%%&'*+-.^_`|~", quote(name))
		}
		if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
			return Invalid("headers", "%s: the value has control characters or is not UTF-8", quote(name))
		}
	}
	return nil
}

// headerName reports whether s is a token of RFC 9110, section 5.6.2, so that every header can be
// sent as an HTTP header.
func headerName(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(s[i])) {
			return false
		}
	}
	return s != ""
}

func headerSize(headers map[string]string) int {
	n := 0
	for name, value := range headers {
		n += len(name) + len(value)
	}
	return n
}

func validateDue(due, delay int64) error {
	switch {
	case due != 0 && delay != 0:
		return Invalid("due", "is given together with a delay, want one of them")
	}
	return validateDelay(delay)
}

func validateDelay(delay int64) error {
	if delay < 0 {
		return Invalid("delay", "%d ms is negative", delay)
	}
	if delay > MaxDelay {
		return Invalid("delay", "%d ms, the limit is %d ms (10 years)", delay, int64(MaxDelay))
	}
	return nil
}

func validateLease(lease int64) error {
	if lease < MinLease || lease > MaxLease {
		return Invalid("lease", "%d ms is outside %d ms to %d ms (12 h)", lease, MinLease, MaxLease)
	}
	return nil
}

func validateCount(field string, n, limit int) error {
	if n < 1 || n > limit {
		return Invalid(field, "%d is outside 1 to %d", n, limit)
	}
	return nil
}

// validateCaller allows no ':' or '|', which separate names from other things in stores.
func validateCaller(field, name string) error {
	if name == "" || len(name) > MaxCallerName {
		return Invalid(field, "the name has %d bytes, want 1 to %d", len(name), MaxCallerName)
	}
	for i := range len(name) {
		if !isAlnum(name[i]) && !strings.ContainsRune("._-", rune(name[i])) {
			return Invalid(field, "%s: want letters, digits, '.', '_', '-'", quote(name))
		}
	}
	return nil
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func tooLarge(field, format string, args ...any) error {
	return &Error{Field: field, Err: fmt.Errorf(format+": %w", append(args, ErrTooLarge)...)}
}

// quote returns s escaped for terminals and logs, cut to 64 bytes.
func quote(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%+q...", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}
