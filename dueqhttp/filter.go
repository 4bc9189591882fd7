package dueqhttp

import (
	"net/url"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/when"
)

// filter chooses messages. Ranges are FROM..TO, as on the command line.
type filter struct {
	State        string            `json:"state"`
	Key          string            `json:"key"`
	Headers      map[string]string `json:"headers"`
	Failure      string            `json:"failure"`
	FailureGroup string            `json:"failure_group"`
	Recurring    bool              `json:"recurring"`
	Due          string            `json:"due"`
	Sent         string            `json:"sent"`
	Died         string            `json:"died"`
	Ended        string            `json:"ended"`
	MinAttempts  int               `json:"min_attempts"`
}

// plain returns f in the form of the library.
func (f *filter) plain() (dueq.Filter, error) {
	p := dueq.Filter{State: dueq.State(f.State), Key: f.Key, Headers: f.Headers, Failure: f.Failure, FailureGroup: f.FailureGroup, Recurring: f.Recurring, MinAttempts: f.MinAttempts}
	now := time.Now()
	for _, r := range []struct {
		field, text string
		into        *dueq.TimeRange
	}{{"due", f.Due, &p.Due}, {"sent", f.Sent, &p.Sent}, {"died", f.Died, &p.Died}, {"ended", f.Ended, &p.Ended}} {
		if r.text == "" {
			continue
		}
		var err error
		if r.into.From, r.into.To, err = when.Range(r.text, now); err != nil {
			return p, unfit(r.field, r.text, ": %w", err)
		}
	}
	return p, nil
}

// filterParameters are the parameters of a query that make a filter.
func filterParameters() []string {
	return []string{"state", "key", "header...", "failure", "failure_group", "recurring", "due", "sent", "died", "ended", "min_attempts"}
}

// queryFilter returns the filter of a query.
func queryFilter(query url.Values) (dueq.Filter, error) {
	f := filter{
		State: query.Get("state"), Key: query.Get("key"), Failure: query.Get("failure"), FailureGroup: query.Get("failure_group"),
		Due: query.Get("due"), Sent: query.Get("sent"), Died: query.Get("died"), Ended: query.Get("ended"),
	}
	var err error
	if f.MinAttempts, err = number("min_attempts", query.Get("min_attempts")); err != nil {
		return dueq.Filter{}, err
	}
	if f.Recurring, err = yes("recurring", query.Get("recurring")); err != nil {
		return dueq.Filter{}, err
	}
	for _, text := range query["header"] {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return dueq.Filter{}, invalid("header", "want name=value")
		}
		if f.Headers == nil {
			f.Headers = map[string]string{}
		}
		f.Headers[name] = value
	}
	return f.plain()
}
