package dueqhttp

import (
	"errors"
	"net/http"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// message is a message that is sent.
type message struct {
	ID          string            `json:"id"`
	DedupID     string            `json:"dedup_id"`
	DedupFor    string            `json:"dedup_for"`
	Key         string            `json:"key"`
	Headers     map[string]string `json:"headers"`
	Delay       string            `json:"delay"`
	Due         string            `json:"due"`
	MaxAttempts *int              `json:"max_attempts"`
	TTL         string            `json:"ttl"`
	Replace     bool              `json:"replace"`
	Repeat      string            `json:"repeat"`
	content
}

// plain returns m in the form of the library.
func (m *message) plain() (p dueq.Message, err error) {
	p = dueq.Message{ID: m.ID, DedupID: m.DedupID, Key: m.Key, Headers: m.Headers, Replace: m.Replace}
	if m.MaxAttempts != nil {
		if p.MaxAttempts = *m.MaxAttempts; p.MaxAttempts < 1 {
			return p, outside("max_attempts", p.MaxAttempts, "1 to %d", store.MaxAttempts)
		}
	}
	if p.Body, err = m.bytes(); err != nil {
		return p, err
	}
	to, err := schedule(m.Delay, m.Due)
	if err != nil {
		return p, err
	}
	p.Delay, p.Due = to.Delay, to.Due
	if p.TTL, err = span("ttl", m.TTL); err != nil {
		return p, err
	}
	if p.DedupFor, err = span("dedup_for", m.DedupFor); err != nil {
		return p, err
	}
	if m.Repeat == "" {
		return p, nil
	}
	if p.Repeat, err = dueq.ParseRepeat(m.Repeat); err != nil {
		err = &dueq.Error{Field: "repeat", Err: err}
	}
	return p, err
}

// sent is the result of a message that is stored.
type sent struct {
	Status int    `json:"status"`
	ID     string `json:"id"`
	// Deduplicated: a message with the same dedup_id was sent before, and has this id.
	Deduplicated bool `json:"deduplicated,omitempty"`
}

// sendResult returns the result of a message.
func (c *call) sendResult(r dueq.SendResult) outcome {
	switch {
	case r.Err != nil:
		p := c.problem(r.Err)
		p.ID = r.ID
		return outcome{p.Status, p}
	case r.Deduplicated:
		return outcome{http.StatusOK, sent{http.StatusOK, r.ID, true}}
	}
	return outcome{http.StatusCreated, sent{http.StatusCreated, r.ID, false}}
}

// serveSend sends one message.
func serveSend(c *call) error {
	q, err := c.queue()
	if err != nil {
		return err
	}
	var m message
	if err := c.read(&m); err != nil {
		return err
	}
	plain, err := m.plain()
	if err != nil {
		return err
	}
	results, err := q.SendBatch(c.r.Context(), []dueq.Message{plain})
	if err != nil {
		return err
	}
	result := c.sendResult(results[0])
	if p, failed := result.item.(problem); failed {
		writeProblem(c.w, p)
		return nil
	}
	return c.answer(result.status, result.item)
}

// batch is a request that sends many messages.
type batch struct {
	Messages []message `json:"messages"`
}

// maxItems is how many messages or verdicts a request may have.
const maxItems = 5000

func checkItems(field string, n int) error {
	if n < 1 || n > maxItems {
		return outside(field, n, "1 to %d", maxItems)
	}
	return nil
}

// serveBatch sends many messages, each with its own result.
func serveBatch(c *call) error {
	q, err := c.queue()
	if err != nil {
		return err
	}
	var b batch
	if err := c.read(&b); err != nil {
		return err
	}
	if err := checkItems("messages", len(b.Messages)); err != nil {
		return err
	}
	results := make([]outcome, len(b.Messages))
	plain, places := make([]dueq.Message, 0, len(b.Messages)), make([]int, 0, len(b.Messages))
	for i := range b.Messages {
		m, err := b.Messages[i].plain()
		if err != nil {
			results[i] = c.failed(err)
			continue
		}
		plain, places = append(plain, m), append(places, i)
	}
	stored, err := q.SendBatch(c.r.Context(), plain)
	if err != nil {
		return err
	}
	for n, i := range places {
		results[i] = c.sendResult(stored[n])
	}
	return c.answerAll(results)
}

// outcome is the result of one item of a request.
type outcome struct {
	status int
	item   any // its JSON
}

// failed returns the result of an item that was refused.
func (c *call) failed(err error) outcome {
	p := c.problem(err)
	return outcome{p.Status, p}
}

// answerAll writes the results of all items. The status is that of all, if they have the same.
func (c *call) answerAll(results []outcome) error {
	status, items := results[0].status, make([]any, len(results))
	for i, r := range results {
		items[i] = r.item
		if r.status != status {
			status = http.StatusMultiStatus
		}
	}
	return c.answer(status, struct {
		Results []any `json:"results"`
	}{items})
}

// serveCancel cancels a message.
func serveCancel(c *call) error {
	q, ref, err := c.named()
	if err == nil {
		err = c.read(&struct{}{})
	}
	if err == nil {
		err = q.Cancel(c.r.Context(), ref)
	}
	if errors.Is(err, dueq.ErrRunning) || err == nil {
		c.audit("cancel")
	}
	if err != nil {
		return err
	}
	return c.empty()
}

// moved is a request that gives a message another due time.
type moved struct {
	Delay string `json:"delay"`
	Due   string `json:"due"`
}

// serveReschedule gives a message another due time.
func serveReschedule(c *call) error {
	q, ref, err := c.named()
	if err != nil {
		return err
	}
	var m moved
	if err := c.read(&m); err != nil {
		return err
	}
	if m.Delay == "" && m.Due == "" {
		return invalid("delay", "is missing, and so is due: want one of them")
	}
	to, err := schedule(m.Delay, m.Due)
	if err != nil {
		return err
	}
	if err := q.Reschedule(c.r.Context(), ref, to); err != nil {
		return err
	}
	return c.empty()
}
