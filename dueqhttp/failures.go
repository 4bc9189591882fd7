package dueqhttp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/failuregroup"
	"github.com/dueq-dev/dueq/store"
)

// failureGroups is a page of dead letters, counted by their last failure: texts that differ
// only in numbers and ids are a group.
type failureGroups struct {
	Matched int            `json:"matched"` // dead letters of this page that match
	Groups  []failureGroup `json:"groups"`  // the largest first
	Next    string         `json:"next,omitempty"`
}

// failureGroup are the dead letters of a page whose last failures differ only in numbers and ids.
type failureGroup struct {
	Failure string `json:"failure"` // of the one that died last
	Group   string `json:"group"`   // the text with a mark for each number and id
	Varied  bool   `json:"varied"`  // the texts differ
	Count   int    `json:"count"`
	First   string `json:"first"` // when the first of them died
	Last    string `json:"last"`
	ID      string `json:"id"` // of the one that died last
}

// serveFailures counts a page of dead letters by their last failure. It reads as many messages as a
// page of a list, without their bodies: a caller who wants all reads page by page and adds.
func serveFailures(c *call) error {
	q, err := c.queue()
	if err != nil {
		return err
	}
	if err := c.onlyQuery("key", "header...", "failure", "failure_group", "died", "min_attempts", "cursor", "limit"); err != nil {
		return err
	}
	query := c.r.URL.Query()
	o := dueq.ListOptions{Cursor: query.Get("cursor")}
	if o.Filter, err = queryFilter(query); err != nil {
		return err
	}
	if o.Limit, err = number("limit", query.Get("limit")); err != nil {
		return err
	}
	if query.Has("limit") && (o.Limit < 1 || o.Limit > store.MaxListLimit) {
		return outside("limit", o.Limit, "1 to %d", store.MaxListLimit)
	}
	o.Filter.State = dueq.Dead
	page, err := q.List(c.r.Context(), o)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, failureGroups{Groups: groupFailures(page.Records), Matched: len(page.Records), Next: page.Next})
}

// groupFailures counts records by their last failure.
func groupFailures(records []dueq.Record) []failureGroup {
	places := map[string]int{}
	groups := []failureGroup{}
	for i := range records {
		r := &records[i]
		died := timestamp(r.At)
		group := failuregroup.Of(r.LastFailure)
		at, known := places[group]
		if !known {
			at = len(groups)
			places[group] = at
			groups = append(groups, failureGroup{Failure: r.LastFailure, Group: group, First: died, Last: died, ID: r.ID})
		}
		g := &groups[at]
		g.Count++
		g.Varied = g.Varied || g.Failure != r.LastFailure
		g.First = min(g.First, died) // instants of the same length, in the same zone
		if died > g.Last {
			g.Last, g.ID, g.Failure = died, r.ID, r.LastFailure
		}
	}
	slices.SortFunc(groups, func(a, b failureGroup) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Group, b.Group)
	})
	return groups
}
