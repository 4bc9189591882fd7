package dueqhttp

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/dueq-dev/dueq"
)

// settings are the settings of a queue in an answer.
type settings struct {
	Partitions    int     `json:"partitions"`
	MaxBody       int     `json:"max_body"`
	MaxMessages   int64   `json:"max_messages"`
	DeadRetention string  `json:"dead_retention"`
	MaxDead       int64   `json:"max_dead"`
	History       string  `json:"history"`
	MaxHistory    int64   `json:"max_history"`
	MaxAttempts   int     `json:"max_attempts"`
	Lease         string  `json:"lease"`
	Backoff       backoff `json:"backoff"`
	DedupFor      string  `json:"dedup_for"`
}

// backoff are the arguments of the exponential backoff of a queue.
type backoff struct {
	Base string `json:"base"`
	Most string `json:"most"`
}

func newSettings(s dueq.Settings) settings {
	return settings{
		Partitions: s.Partitions, MaxBody: s.MaxBody, MaxMessages: s.MaxMessages,
		DeadRetention: s.DeadRetention.String(), MaxDead: s.MaxDead, History: s.History.String(), MaxHistory: s.MaxHistory,
		MaxAttempts: s.MaxAttempts, Lease: s.Lease.String(), Backoff: backoff{s.Backoff.Base.String(), s.Backoff.Most.String()},
		DedupFor: s.DedupFor.String(),
	}
}

// changedSettings are the settings of a queue in a request. Those that are missing are not
// changed, or have their defaults when a queue is made.
type changedSettings struct {
	Partitions    *int     `json:"partitions"`
	MaxBody       *int     `json:"max_body"`
	MaxMessages   *int64   `json:"max_messages"`
	DeadRetention *string  `json:"dead_retention"`
	MaxDead       *int64   `json:"max_dead"`
	History       *string  `json:"history"`
	MaxHistory    *int64   `json:"max_history"`
	MaxAttempts   *int     `json:"max_attempts"`
	Lease         *string  `json:"lease"`
	Backoff       *backoff `json:"backoff"`
	DedupFor      *string  `json:"dedup_for"`
}

// check returns an error for a value that cannot be parsed.
func (c *changedSettings) check() error { return c.apply(&dueq.Settings{}) }

// apply changes s.
func (c *changedSettings) apply(s *dueq.Settings) error {
	set(&s.Partitions, c.Partitions)
	set(&s.MaxBody, c.MaxBody)
	set(&s.MaxMessages, c.MaxMessages)
	set(&s.MaxDead, c.MaxDead)
	set(&s.MaxHistory, c.MaxHistory)
	set(&s.MaxAttempts, c.MaxAttempts)
	spans := []struct {
		field string
		text  *string
		into  *time.Duration
	}{
		{"dead_retention", c.DeadRetention, &s.DeadRetention},
		{"history", c.History, &s.History},
		{"lease", c.Lease, &s.Lease},
		{"dedup_for", c.DedupFor, &s.DedupFor},
	}
	if c.Backoff != nil {
		s.Backoff = dueq.BackoffSettings{}
		spans = append(spans, []struct {
			field string
			text  *string
			into  *time.Duration
		}{{"backoff", &c.Backoff.Base, &s.Backoff.Base}, {"backoff", &c.Backoff.Most, &s.Backoff.Most}}...)
	}
	for _, given := range spans {
		if given.text == nil {
			continue
		}
		var err error
		if *given.into, err = span(given.field, *given.text); err != nil {
			return err
		}
	}
	return nil
}

// set sets a field if there is a value.
func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// queue is the answer about a queue.
type queue struct {
	Queue         string   `json:"queue"`
	Paused        bool     `json:"paused"`
	GrowingFrom   int      `json:"growing_from"`
	Settings      settings `json:"settings"`
	Scheduled     int64    `json:"scheduled"`
	Ready         int64    `json:"ready"`
	Leased        int64    `json:"leased"`
	Dead          int64    `json:"dead"`
	Done          int64    `json:"done"`
	OldestReadyMS int64    `json:"oldest_ready_ms"`
	Consumers     int      `json:"consumers"`
	Remembered    int64    `json:"remembered"`
	Counters      counters `json:"counters"`
}

// counters are what happened in a queue since it was made.
type counters struct {
	Sent         int64 `json:"sent"`
	Delivered    int64 `json:"delivered"`
	Acked        int64 `json:"acked"`
	Nacked       int64 `json:"nacked"`
	Released     int64 `json:"released"`
	Snoozed      int64 `json:"snoozed"`
	Repeated     int64 `json:"repeated"`
	Rejected     int64 `json:"rejected"`
	LeaseLost    int64 `json:"lease_lost"`
	DeadLettered int64 `json:"dead_lettered"`
	Cancelled    int64 `json:"cancelled"`
	Replaced     int64 `json:"replaced"`
	Expired      int64 `json:"expired"`
	Redriven     int64 `json:"redriven"`
	Purged       int64 `json:"purged"`
	DeadExpired  int64 `json:"dead_expired"`
	Duplicates   int64 `json:"duplicates"`
	Deduplicated int64 `json:"deduplicated"`
	Forgotten    int64 `json:"forgotten"`
}

func newQueue(s dueq.Stats) queue {
	return queue{
		Queue: s.Queue, Paused: s.Settings.Paused, GrowingFrom: s.Settings.GrowingFrom, Settings: newSettings(s.Settings),
		Scheduled: s.Scheduled, Ready: s.Ready, Leased: s.Leased, Dead: s.Dead, Done: s.Done,
		OldestReadyMS: s.OldestReady.Milliseconds(), Consumers: s.Consumers, Remembered: s.Remembered, Counters: counters(s.Counters),
	}
}

// queues is the answer about all queues.
type queues struct {
	Queues []queue `json:"queues"`
}

// serveQueues returns all queues that the caller may see.
func serveQueues(c *call) error {
	if err := c.onlyQuery(); err != nil {
		return err
	}
	all, err := c.stats()
	if err != nil {
		return err
	}
	answer := queues{make([]queue, len(all))}
	for i := range all {
		answer.Queues[i] = newQueue(all[i])
	}
	return c.answer(http.StatusOK, answer)
}

// stats returns the sizes of all queues that the caller may see.
func (c *call) stats() ([]dueq.Stats, error) {
	all, err := c.client.Stats(c.r.Context())
	if err != nil {
		return nil, err
	}
	seen := make([]dueq.Stats, 0, len(all))
	for i := range all {
		if c.allow(Read, all[i].Queue) == nil {
			seen = append(seen, all[i])
		}
	}
	return seen, nil
}

// serveQueue returns one queue.
func serveQueue(c *call) error {
	q, err := c.queue()
	if err == nil {
		err = c.onlyQuery()
	}
	if err != nil {
		return err
	}
	return c.answerQueue(q)
}

func (c *call) answerQueue(q *dueq.Queue) error {
	s, err := q.Stats(c.r.Context())
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, newQueue(s))
}

// changed reads the queue of a request, and its settings.
func (c *call) changed() (q *dueq.Queue, change changedSettings, err error) {
	if q, err = c.queue(); err == nil {
		err = c.read(&change)
	}
	return q, change, err
}

// serveCreate makes a queue.
func serveCreate(c *call) error {
	q, change, err := c.changed()
	if err != nil {
		return err
	}
	var s dueq.Settings
	if err := change.apply(&s); err != nil {
		return err
	}
	if err := q.Create(c.r.Context(), s); err != nil {
		return err
	}
	c.audit("create queue")
	return c.answerQueue(q)
}

// serveUpdate changes settings of a queue.
func serveUpdate(c *call) error {
	q, change, err := c.changed()
	if err != nil {
		return err
	}
	if err := change.check(); err != nil {
		return err
	}
	_, err = q.Update(c.r.Context(), func(s *dueq.Settings) { _ = change.apply(s) }) // it was checked
	if err != nil {
		return err
	}
	c.audit("update queue")
	return c.answerQueue(q)
}

// serveDeleteQueue removes a queue.
func serveDeleteQueue(c *call) error {
	if err := c.onlyQuery("force"); err != nil {
		return err
	}
	force, err := yes("force", c.r.URL.Query().Get("force"))
	if err != nil {
		return err
	}
	if err := c.client.DeleteQueue(c.r.Context(), c.r.PathValue("queue"), &dueq.DeleteQueueOptions{Force: force}); err != nil {
		return err
	}
	c.audit("delete queue", slog.Bool("force", force))
	return c.empty()
}

func servePause(c *call) error  { return c.pause("pause", (*dueq.Queue).Pause) }
func serveResume(c *call) error { return c.pause("resume", (*dueq.Queue).Resume) }

// pause pauses or resumes a queue.
func (c *call) pause(op string, do func(*dueq.Queue, context.Context) error) error {
	q, err := c.queue()
	if err == nil {
		err = c.read(&struct{}{})
	}
	if err == nil {
		err = do(q, c.r.Context())
	}
	if err != nil {
		return err
	}
	c.audit(op)
	return c.empty()
}
