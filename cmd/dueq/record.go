package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
	"github.com/dueq-dev/dueq/internal/jsonbody"
)

// content is what the sender wrote, as JSON: the body is a string where it is text,
// else in base 64.
type content struct {
	Key        string            `json:"key,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Body       *string           `json:"body,omitempty"`
	BodyBase64 *string           `json:"body_base64,omitempty"`
}

func newContent(key string, headers map[string]string, body []byte) content {
	text, inBase64 := jsonbody.Encode(body)
	return content{Key: key, Headers: headers, Body: text, BodyBase64: inBase64}
}

// bodyText returns the body for people.
func (c *content) bodyText() string {
	if c.BodyBase64 != nil {
		return "base64:" + *c.BodyBase64
	}
	return *c.Body
}

// headerText returns the headers in one line, in the order of their names.
func (c *content) headerText() string {
	parts := make([]string, 0, len(c.Headers))
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		parts = append(parts, name+"="+strconv.Quote(c.Headers[name]))
	}
	return strings.Join(parts, " ")
}

// record is a message in the store.
type record struct {
	ID    string     `json:"id"`
	Queue string     `json:"queue"`
	State dueq.State `json:"state"`
	content
	BodySize       int         `json:"body_size"`
	Due            string      `json:"due,omitempty"`          // scheduled, ready
	LeasedUntil    string      `json:"leased_until,omitempty"` // leased
	Holder         string      `json:"holder,omitempty"`       // leased
	DiedAt         string      `json:"died_at,omitempty"`      // dead
	EndedAt        string      `json:"ended_at,omitempty"`     // done
	Ending         dueq.Ending `json:"ending,omitempty"`       // done
	SentAt         string      `json:"sent_at"`
	ExpiresAt      string      `json:"expires_at,omitempty"`
	Attempt        int         `json:"attempt"`
	Token          int64       `json:"token"`
	Failures       int         `json:"failures"`
	Snoozes        int         `json:"snoozes"`
	MaxAttempts    int         `json:"max_attempts"`
	LastFailure    string      `json:"last_failure,omitempty"`
	RecentFailures []failure   `json:"recent_failures,omitempty"` // the newest first
	Cancelling     bool        `json:"cancelling,omitempty"`
	Repeat         string      `json:"repeat,omitempty"`
}

// failure is a delivery that failed, was snoozed or whose lease ran out.
type failure struct {
	At      string `json:"at,omitempty"` // missing: not known, of a message from another store
	Attempt int    `json:"attempt"`
	Text    string `json:"text"`
}

func recentFailures(of []dueq.Failure) []failure {
	all := make([]failure, 0, len(of))
	for _, f := range of {
		all = append(all, failure{At: timestamp(f.At), Attempt: f.Attempt, Text: f.Text})
	}
	return all
}

func newRecord(r dueq.Record) record {
	body := r.Body
	if len(body) < r.BodySize {
		body = jsonbody.WholeRunes(body)
	}
	view := record{
		ID: r.ID, Queue: r.Queue, State: r.State, content: newContent(r.Key, r.Headers, body), BodySize: r.BodySize,
		SentAt: timestamp(r.SentAt), ExpiresAt: timestamp(r.ExpiresAt),
		Attempt: r.Attempt, Token: r.Token, Failures: r.Failures, Snoozes: r.Snoozes, MaxAttempts: r.MaxAttempts,
		LastFailure: r.LastFailure, RecentFailures: recentFailures(r.RecentFailures), Cancelling: r.Cancelling, Holder: r.Holder, Ending: r.Ending, Repeat: r.Repeat.String(),
	}
	switch r.State {
	case dueq.Leased:
		view.LeasedUntil = timestamp(r.At)
	case dueq.Dead:
		view.DiedAt = timestamp(r.At)
	case dueq.Done:
		view.EndedAt = timestamp(r.At)
	default:
		view.Due = timestamp(r.At)
	}
	return view
}

// when returns the instant that the message has in its state: only one of them is set.
func (r *record) when() string { return cmp.Or(r.Due, r.LeasedUntil, r.DiedAt, r.EndedAt) }

// timestamp formats an instant as all output has it: UTC, to the millisecond. The zero time
// is "".
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// column returns the beginning of a text, for a column of a table.
func column(s string) string {
	const width = 60
	return term.Cut(term.Escape(s), width)
}
