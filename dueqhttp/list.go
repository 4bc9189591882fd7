package dueqhttp

import (
	"net/http"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// page is a page of a list.
type page struct {
	Messages []record `json:"messages"`
	Next     string   `json:"next,omitempty"` // the cursor of the next page
}

// maxListBytes bounds the bodies of a page.
const maxListBytes = 4 << 20

// serveList returns a page of the messages that a filter chooses.
func serveList(c *call) error {
	q, err := c.queue()
	if err != nil {
		return err
	}
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	found, err := q.List(c.r.Context(), o)
	if err != nil {
		return err
	}
	p := page{Messages: make([]record, len(found.Records)), Next: found.Next}
	for i := range found.Records {
		p.Messages[i] = newRecord(found.Records[i])
	}
	return c.answer(http.StatusOK, p)
}

func (c *call) listOptions() (o dueq.ListOptions, err error) {
	if err := c.onlyQuery(append(filterParameters(), "order", "cursor", "limit", "body_limit")...); err != nil {
		return o, err
	}
	query := c.r.URL.Query()
	if o.Filter, err = queryFilter(query); err != nil {
		return o, err
	}
	o.Cursor, o.Order = query.Get("cursor"), dueq.Order(query.Get("order"))
	if query.Has("order") && o.Order != dueq.Ascending && o.Order != dueq.Descending {
		return o, noneOf("order", string(o.Order), "asc, desc")
	}
	if o.Limit, err = number("limit", query.Get("limit")); err != nil {
		return o, err
	}
	if query.Has("limit") && (o.Limit < 1 || o.Limit > store.MaxListLimit) {
		return o, outside("limit", o.Limit, "1 to %d", store.MaxListLimit)
	}
	if o.BodyLimit, err = number("body_limit", query.Get("body_limit")); err != nil {
		return o, err
	}
	limit := o.Limit
	if limit == 0 {
		limit = 100 // the default of the library
	}
	if o.BodyLimit < 0 || o.BodyLimit > maxListBytes/limit {
		return o, outside("body_limit", o.BodyLimit, "0 to %d, for a limit of %d messages", maxListBytes/limit, limit)
	}
	return o, nil
}
