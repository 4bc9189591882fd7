package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// section is a queue of an export.
type section struct {
	settings store.Settings
	sum      string // identifies what the export has of the queue
}

// checker reads an export and changes nothing.
type checker struct {
	in       *reader
	whole    hash.Hash
	sections map[string]section

	queue    string // the one whose messages follow
	part     hash.Hash
	messages int
}

// check reads a whole export, and returns its queues. An error names the line and the field.
func check(in io.Reader) (map[string]section, error) {
	c := &checker{in: newReader(in), whole: sha256.New(), sections: map[string]section{}}
	first, text, err := c.in.decoded()
	switch {
	case errors.Is(err, io.EOF):
		return nil, &LineError{1, errors.New("the file is empty")}
	case err != nil:
		return nil, err
	case first.Export != version:
		return nil, &LineError{1, fmt.Errorf("dueq_export: %d is not a version that this dueq reads, it reads %d", first.Export, version)}
	}
	c.hash(text)
	for {
		l, text, err := c.in.decoded()
		if errors.Is(err, io.EOF) {
			return nil, &LineError{c.in.n, errors.New("end: is missing: the file was cut short")}
		}
		if err != nil {
			return nil, err
		}
		if l.End != nil {
			return c.sections, c.last(l.End)
		}
		if err := c.line(&l); err != nil {
			return nil, &LineError{c.in.n, err}
		}
		c.hash(text)
	}
}

func (c *checker) hash(text []byte) {
	for _, h := range []hash.Hash{c.whole, c.part} {
		if h != nil {
			_, _ = h.Write(text) // never fails
			_, _ = h.Write([]byte{'\n'})
		}
	}
}

func (c *checker) line(l *line) error {
	switch {
	case l.Export != 0:
		return errors.New("dueq_export: is given again")
	case l.Queue != "" || l.Settings != nil:
		return c.begin(l)
	case c.queue == "":
		return errors.New("queue: a message comes before the first queue")
	}
	r, err := l.record()
	if err != nil {
		return err
	}
	if err := placed(&r, c.sections[c.queue].settings.Partitions); err != nil {
		return err
	}
	c.messages++
	return nil
}

// placed returns an error if a message is not in a partition of its queue or, with a key that must be
// unique, not in that of the key.
func placed(r *store.Record, partitions int) error {
	index := r.ID.Partition()
	switch {
	case index >= partitions:
		return store.Invalid("id", "%s is of partition %d, the queue has %d", r.ID, index, partitions)
	case r.Key == "" || r.State == store.Done:
		return nil
	}
	if home := route.ByKey(r.Key, partitions); home != index {
		return store.Invalid("id", "%s is of partition %d, its key %.64q belongs to %d", r.ID, index, r.Key, home)
	}
	return nil
}

func (c *checker) begin(l *line) error {
	switch {
	case l.Settings == nil:
		return errors.New("settings: are missing")
	case l.ID != store.ID{}:
		return errors.New("id: is in the line of a queue")
	}
	if err := store.ValidateQueue(l.Queue); err != nil {
		return err
	}
	if _, ok := c.sections[l.Queue]; ok {
		return store.Invalid("queue", "%q comes twice", l.Queue)
	}
	if l.Settings.From != 0 {
		return store.Invalid("from", "%d: the queue was growing", l.Settings.From)
	}
	if err := changeTo(*l.Settings).Validate(); err != nil {
		return err
	}
	c.finish()
	c.queue, c.part = l.Queue, sha256.New()
	c.sections[c.queue] = section{settings: *l.Settings}
	return nil
}

// finish ends the section of the queue before.
func (c *checker) finish() {
	if c.queue == "" {
		return
	}
	s := c.sections[c.queue]
	const enough = 16 // bytes
	s.sum = hex.EncodeToString(c.part.Sum(nil)[:enough])
	c.sections[c.queue] = s
}

func (c *checker) last(e *end) error {
	c.finish()
	sum := hex.EncodeToString(c.whole.Sum(nil))
	var err error
	switch {
	case e.Queues != len(c.sections):
		err = fmt.Errorf("end: %d queues, the file has %d", e.Queues, len(c.sections))
	case e.Messages != c.messages:
		err = fmt.Errorf("end: %d messages, the file has %d", e.Messages, c.messages)
	case e.SHA256 != "" && e.SHA256 != sum:
		err = fmt.Errorf("end: sha256 %.64q, that of the lines before is %s: the file was damaged or changed", e.SHA256, sum)
	}
	if err != nil {
		return &LineError{c.in.n, err}
	}
	if _, err := c.in.next(); !errors.Is(err, io.EOF) {
		return &LineError{c.in.n, errors.New("comes behind the end")}
	}
	return nil
}

// changeTo returns what makes a queue with the settings.
func changeTo(s store.Settings) store.Change {
	return store.Change{
		Create: true, Partitions: &s.Partitions, MaxBody: &s.MaxBody, MaxMessages: &s.MaxMessages, Paused: &s.Paused,
		DeadRetention: &s.DeadRetention, MaxDead: &s.MaxDead, History: &s.History, MaxHistory: &s.MaxHistory,
		MaxAttempts: &s.MaxAttempts, Lease: &s.Lease, BackoffBase: &s.BackoffBase, BackoffMost: &s.BackoffMost, DedupFor: &s.DedupFor,
	}
}
