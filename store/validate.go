package store

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
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
		return Over("queue", "bytes", len(name), MaxQueueName)
	}
	for i := range len(name) {
		if c := name[i]; !isAlnum(c) && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return Unfit("queue", name, ": want letters, digits, '.', '_', '-', a letter or digit first")
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
		return Over("key", "bytes", len(key), MaxKey)
	case !printable(key):
		return Unfit("key", key, " has characters that are not printable UTF-8")
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
		return TooLarge(len(m.Body), maxBody)
	}
	return nil
}

func (m *Message) validateLife() error {
	switch {
	case m.MaxAttempts < 1 || m.MaxAttempts > MaxAttempts:
		return Outside("max attempts", m.MaxAttempts, "1 to %d", MaxAttempts)
	case m.Replace && m.Key == "":
		return Invalid("replace", "needs a key")
	case m.Remember < 0 || m.Remember > MaxRemember:
		return Outside("dedup for", ms(m.Remember), "0 to %s", ms(MaxRemember))
	}
	return validateTTL(m.TTL, m.Delay)
}

func (m *Message) validateRepeat() error {
	switch {
	case m.Key == "":
		return Invalid("repeat", "needs a key, by which the message can be declared again")
	case m.TTL != 0:
		return Invalid("ttl", "%s together with repeat: a TTL would end all occurrences", ms(m.TTL))
	}
	return ValidateRepeat(m.Repeat)
}

// ValidateRepeat returns an *Error of kind ErrInvalid unless text is 1 to MaxRepeat bytes of
// printable ASCII, a letter of a-z first. The letter distinguishes a schedule from a number, in
// whose place a store may keep it.
func ValidateRepeat(text string) error {
	switch {
	case len(text) > MaxRepeat:
		return Over("repeat", "bytes", len(text), MaxRepeat)
	case text == "" || text[0] < 'a' || text[0] > 'z':
		return Unfit("repeat", text, " does not begin with a letter of a-z")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return Unfit("repeat", text, " has characters that are not printable ASCII")
	}
	return nil
}

func validateTTL(ttl, delay int64) error {
	if ttl < 0 || ttl > 2*MaxDelay {
		return Outside("ttl", ms(ttl), "0 to %s", ms(2*MaxDelay))
	}
	if ttl > 0 && ttl <= delay {
		return Invalid("ttl", "%s ends before the delay of %s", ms(ttl), ms(delay)).naming(ms(ttl).String(), "more than "+ms(delay).String())
	}
	return nil
}

func validateHeaders(headers map[string]string) error {
	if len(headers) > MaxHeaders {
		return Over("headers", "headers", len(headers), MaxHeaders)
	}
	if n := headerSize(headers); n > MaxHeaderSize {
		return Over("headers", "bytes", n, MaxHeaderSize)
	}
	for name, value := range headers {
		if !headerName(name) {
			return Invalid("headers", "name %s: want letters, digits and any of !#$%%&'*+-.^_`|~", quote(name))
		}
		if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
			return Unfit("headers", name, ": the value has control characters or is not UTF-8")
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
		return Negative("delay", ms(delay))
	}
	if delay > MaxDelay {
		return Invalid("delay", "%s, the limit is %s (10 years)", ms(delay), ms(MaxDelay)).naming(ms(delay).String(), "0 to "+ms(MaxDelay).String()+" (10 years)")
	}
	return nil
}

func validateLease(lease int64) error {
	if lease < MinLease || lease > MaxLease {
		return Outside("lease", ms(lease), "%s to %s", ms(MinLease), ms(MaxLease))
	}
	return nil
}

func validateCount(field string, n, limit int) error {
	if n < 1 || n > limit {
		return Outside(field, n, "1 to %d", limit)
	}
	return nil
}

// validateCaller allows no ':' or '|', which separate names from other things in stores.
func validateCaller(field, name string) error {
	if name == "" || len(name) > MaxCallerName {
		return Outside(field, fmt.Sprintf("a name of %d bytes", len(name)), "1 to %d bytes", MaxCallerName)
	}
	for i := range len(name) {
		if !isAlnum(name[i]) && !strings.ContainsRune("._-", rune(name[i])) {
			return Unfit(field, name, ": want letters, digits, '.', '_', '-'")
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

// ms is a span in milliseconds.
type ms int64

// String returns the exact span in units that people use, such as 1d12h; as "N ms" if it is below a
// second or above 100 years.
func (m ms) String() string {
	const longest = 36500 * 24 * time.Hour
	if m < 1000 || m > ms(longest.Milliseconds()) {
		return strconv.FormatInt(int64(m), 10) + " ms"
	}
	text, rest := "", int64(m)
	for _, unit := range [...]struct {
		name string
		ms   int64
	}{{"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1000}, {"ms", 1}} {
		if n := rest / unit.ms; n > 0 {
			text += strconv.FormatInt(n, 10) + unit.name
			rest %= unit.ms
		}
	}
	return text
}
