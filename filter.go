package dueq

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dueq-dev/dueq/internal/failuregroup"
	"github.com/dueq-dev/dueq/store"
)

// Filter chooses messages of a queue. A message must match every field that is set; the zero
// Filter chooses all messages that the call can act on.
//
// The library evaluates filters over pages of the queue's messages, without their bodies. So a
// call reads every message in the states that it is about, of those for which Due, Died or Ended
// gives a range only the messages in it.
type Filter struct {
	State State // "": every state that the call is about
	// Key is a pattern for the key: * stands for any text, also none, ? for any one character,
	// [a-z] for one of a set, [^a-z] for one not in it, and \ makes the next character an
	// ordinary one. A message without a key matches only "".
	Key     string
	Headers map[string]string // a message must have each of these, with exactly this value
	Failure string            // must be contained in Record.LastFailure
	// FailureGroup is the text of a failure: a message matches whose Record.LastFailure differs from
	// it only in numbers, UUIDs and hexadecimal ids.
	FailureGroup string
	Recurring    bool      // only messages with Message.Repeat
	Due          TimeRange // of scheduled and ready messages; others do not match
	Sent         TimeRange // by the producers' clocks
	Died         TimeRange // of dead messages; others do not match
	Ended        TimeRange // of done messages; others do not match
	// MinAttempts is how often the message must have been delivered, including a current
	// delivery.
	MinAttempts int
}

// TimeRange has the instants from From (inclusive) to To (exclusive). A zero From or To is no
// bound.
type TimeRange struct{ From, To time.Time }

// set reports whether r has a bound.
func (r TimeRange) set() bool { return !r.From.IsZero() || !r.To.IsZero() }

// contains reports whether an instant in unix ms is in r.
func (r TimeRange) contains(ms int64) bool {
	return (r.From.IsZero() || ms >= toInstant(r.From)) && !r.endsBefore(ms)
}

// endsBefore reports whether an instant in unix ms and all later ones are outside r.
func (r TimeRange) endsBefore(ms int64) bool { return !r.To.IsZero() && ms >= toInstant(r.To) }

func (r TimeRange) check(field string) error {
	if !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To) {
		return invalid(field, "begins at %s, which is not before its end %s", r.From.Format(time.RFC3339), r.To.Format(time.RFC3339))
	}
	return nil
}

// matcher is a Filter that has been checked.
type matcher struct {
	Filter
	states []State // where to look, in this order
	key    *regexp.Regexp
}

// matcher checks f for a call that is about messages in the given states.
func (f Filter) matcher(states ...State) (*matcher, error) {
	m := &matcher{Filter: f, states: states}
	m.FailureGroup = failuregroup.Of(f.FailureGroup)
	if f.State != "" {
		if !slices.Contains(states, f.State) {
			return nil, noneOf("state", string(f.State), stateNames(states))
		}
		m.states = []State{f.State}
	}
	for field, r := range map[string]TimeRange{"due": f.Due, "sent": f.Sent, "died": f.Died, "ended": f.Ended} {
		if err := r.check(field); err != nil {
			return nil, err
		}
	}
	if f.MinAttempts < 0 {
		return nil, negative("min attempts", f.MinAttempts)
	}
	if err := m.keep("due", f.Due, Scheduled, Ready); err != nil {
		return nil, err
	}
	if err := m.keep("died", f.Died, Dead); err != nil {
		return nil, err
	}
	if err := m.keep("ended", f.Ended, Done); err != nil {
		return nil, err
	}
	return m, m.compileKey()
}

// keep removes the states in which messages do not have the instant that r limits.
func (m *matcher) keep(field string, r TimeRange, with ...State) error {
	if !r.set() {
		return nil
	}
	m.states = slices.DeleteFunc(slices.Clone(m.states), func(s State) bool { return !slices.Contains(with, s) })
	if len(m.states) == 0 {
		return invalid(field, "only %s messages have it, which is none of those that are asked for", stateNames(with))
	}
	return nil
}

func (m *matcher) compileKey() error {
	if m.Key == "" {
		return nil
	}
	pattern, err := globPattern("key", m.Key)
	if err != nil {
		return err
	}
	m.key = pattern
	return nil
}

// everything reports whether every message in the states matches.
func (m *matcher) everything() bool {
	return m.key == nil && len(m.Headers) == 0 && m.Failure == "" && m.FailureGroup == "" && !m.Recurring && m.MinAttempts == 0 &&
		!m.Due.set() && !m.Sent.set() && !m.Died.set() && !m.Ended.set()
}

func (m *matcher) match(r *store.Record) bool {
	switch {
	case m.key != nil && (r.Key == "" || !m.key.MatchString(r.Key)),
		!strings.Contains(r.LastFailure, m.Failure),
		m.FailureGroup != "" && failuregroup.Of(r.LastFailure) != m.FailureGroup,
		m.Recurring && r.Repeat == "",
		r.Attempt < m.MinAttempts,
		!m.Sent.contains(r.ID.Time()),
		!m.at(State(r.State)).contains(r.At):
		return false
	}
	for name, want := range m.Headers {
		if value, ok := r.Headers[name]; !ok || value != want {
			return false
		}
	}
	return true
}

// from returns the least Record.At of the messages in a state that can match, 0 for any.
func (m *matcher) from(s State) int64 {
	bound := m.at(s).From
	if s == Leased || bound.IsZero() {
		return 0
	}
	return min(max(0, toInstant(bound)), store.MaxInstant)
}

// past reports whether neither r nor any message after it in the list of its state matches.
func (m *matcher) past(r *store.Record) bool { return m.at(State(r.State)).endsBefore(r.At) }

// at returns the bounds of Record.At in a state.
func (m *matcher) at(s State) TimeRange {
	switch s {
	case Dead:
		return m.Died
	case Done:
		return m.Ended
	case Scheduled, Ready, Leased:
	}
	return m.Due
}

func stateNames(states []State) string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// globPattern compiles a pattern for keys or names of queues, in the syntax of [Filter]. Its
// errors name field.
func globPattern(field, glob string) (*regexp.Regexp, error) {
	if !utf8.ValidString(glob) {
		return nil, unfit(field, glob, " is not UTF-8")
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := []rune(glob); len(rest) > 0; {
		text, size, problem := globPart(rest)
		if problem != "" {
			return nil, unfit(field, glob, " %s", problem)
		}
		b.WriteString(text)
		rest = rest[size:]
	}
	b.WriteString(`\z`)
	compiled, err := regexp.Compile(b.String())
	if err != nil {
		return nil, unfit(field, glob, " cannot be used as a pattern")
	}
	return compiled, nil
}

// globPart returns the first part of a pattern as a regular expression, and its length.
func globPart(glob []rune) (text string, size int, problem string) {
	switch glob[0] {
	case '*':
		return `.*`, 1, ""
	case '?':
		return `.`, 1, ""
	case '[':
		return globSet(glob)
	}
	r, size := globRune(glob)
	if size == 0 {
		return "", 0, `ends with a \`
	}
	return regexp.QuoteMeta(string(r)), size, ""
}

// globSet returns a set such as [a-z_] as a regular expression.
func globSet(glob []rune) (text string, size int, problem string) {
	var b strings.Builder
	b.WriteString("[")
	at := 1
	if at < len(glob) && glob[at] == '^' {
		b.WriteString("^")
		at++
	}
	for first := true; at < len(glob) && (first || glob[at] != ']'); first = false {
		low, size := globRune(glob[at:])
		high := low
		at += size
		if at+1 < len(glob) && glob[at] == '-' && glob[at+1] != ']' {
			high, size = globRune(glob[at+1:])
			at += 1 + size
		}
		if size == 0 {
			return "", 0, `ends with a \`
		}
		if high < low {
			return "", 0, fmt.Sprintf("has the range %c-%c, which ends before it begins", low, high)
		}
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, low, high)
	}
	if at >= len(glob) {
		return "", 0, "has a [ without its ]"
	}
	b.WriteString("]")
	return b.String(), at + 1, ""
}

// globRune returns the first literal character of a pattern, and its length in the pattern; 0 if
// the pattern ends with a \.
func globRune(glob []rune) (r rune, size int) {
	if glob[0] != '\\' {
		return glob[0], 1
	}
	if len(glob) == 1 {
		return 0, 0
	}
	return glob[1], 2
}
