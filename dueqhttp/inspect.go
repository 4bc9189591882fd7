package dueqhttp

import (
	"net/http"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/jsonbody"
)

// record is a message in the store.
type record struct {
	ID             string            `json:"id"`
	Queue          string            `json:"queue"`
	State          dueq.State        `json:"state"`
	Key            string            `json:"key,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	BodySize       int               `json:"body_size"`
	Due            string            `json:"due,omitempty"`          // scheduled, ready
	LeasedUntil    string            `json:"leased_until,omitempty"` // leased
	Holder         string            `json:"holder,omitempty"`       // leased
	DiedAt         string            `json:"died_at,omitempty"`      // dead
	EndedAt        string            `json:"ended_at,omitempty"`     // done
	Ending         dueq.Ending       `json:"ending,omitempty"`       // done
	SentAt         string            `json:"sent_at"`
	ExpiresAt      string            `json:"expires_at,omitempty"`
	Attempt        int               `json:"attempt"`
	Token          int64             `json:"token"`
	Failures       int               `json:"failures"`
	Snoozes        int               `json:"snoozes"`
	MaxAttempts    int               `json:"max_attempts"`
	LastFailure    string            `json:"last_failure,omitempty"`
	RecentFailures []failure         `json:"recent_failures,omitempty"` // the newest first
	Cancelling     bool              `json:"cancelling,omitempty"`
	Repeat         string            `json:"repeat,omitempty"`
	content
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
		ID: r.ID, Queue: r.Queue, State: r.State, Key: r.Key, Headers: r.Headers, content: newContent(body), BodySize: r.BodySize,
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

// serveGet returns one message.
func serveGet(c *call) error {
	q, ref, err := c.named()
	if err == nil {
		err = c.onlyQuery()
	}
	if err != nil {
		return err
	}
	r, err := q.Get(c.r.Context(), ref)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, newRecord(r))
}
