package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dueq-dev/dueq/internal/failurelog"
	"github.com/dueq-dev/dueq/store"
)

// notPaused is what restore.lua returns in the place of how many items were done, where the queue
// is not paused.
const notPaused = -4

// The arguments of restore.lua that come before the messages, and how many each message has.
const (
	restoreCount = iota
	restoreLargest
	restoreVersion
	restoreBefore

	restoreFields = 10
)

// Restore implements store.Store.
func (s *Store) Restore(ctx context.Context, p store.Partition, r store.RestoreRequest) ([]store.Code, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return nil, err
	}
	c := call{op: "restore", queue: p.Queue, script: s.scripts["restore"], keys: s.partitionKeys(p, allKeys), args: restoreArgs(r)}
	for range reconciliations {
		settings, err := s.restorePartitions(ctx, p, r)
		if err != nil {
			return nil, err
		}
		c.args[restoreVersion] = settings.Version
		got, err := s.run(ctx, c)
		if err != nil {
			return nil, err
		}
		version, refused, err := otherSettings(got)
		switch {
		case err != nil:
			return nil, fail("restore", p.Queue, err)
		case !refused:
			return restored(p, got, len(r.Messages))
		}
		if err := s.reconcile(ctx, "restore", p, version, true); err != nil {
			return nil, err
		}
	}
	return nil, fail("restore", p.Queue, errUnsettled)
}

// restorePartitions returns the settings of the queue of a restore, which has the partition.
func (s *Store) restorePartitions(ctx context.Context, p store.Partition, r store.RestoreRequest) (queueSettings, error) {
	settings, err := s.read(ctx, "restore", p.Queue)
	if err != nil {
		return settings, err
	}
	if p.Index >= settings.Partitions || r.Of != 0 && r.Of != settings.Partitions {
		return settings, fail("restore", p.Queue, store.ErrRepartitioned)
	}
	return settings, nil
}

func restored(p store.Partition, reply any, n int) ([]store.Code, error) {
	if fields, ok := reply.([]any); ok && len(fields) == 2 && fields[0] == int64(notPaused) {
		return nil, fail("restore", p.Queue, store.ErrNotPaused)
	}
	results := make([]store.PushResult, n)
	if _, err := readAnswer(reply, results); err != nil {
		return nil, fail("restore", p.Queue, err)
	}
	return codes(results, nil)
}

func restoreArgs(r store.RestoreRequest) []any {
	args := make([]any, restoreBefore, restoreBefore+restoreFields*len(r.Messages))
	largest := 0
	for i := range r.Messages {
		m := &r.Messages[i]
		record := restoredRecord(m)
		largest = max(largest, len(record))
		if m.State == store.Done {
			args = append(args, m.ID.String(), "done", m.At, pastValue(m, record), m.Key, "", string(m.Ending), "", "", "")
			continue
		}
		args = append(args, m.ID.String(), zsetOf(m.State), m.At, record, keyOf(m), holderOf(m), historyOf(m), failurelog.Of(m),
			rememberedOf(m), string(m.DedupID.AppendTo(nil)))
	}
	args[restoreCount], args[restoreLargest] = len(r.Messages), largest
	return args
}

func zsetOf(s store.State) string {
	if s == store.Dead {
		return "dead"
	}
	return "due"
}

// keyOf returns the key that a message holds while it is due, or by which it is found while it
// is dead. A letter that was redriven has none.
func keyOf(m *store.Record) string {
	if m.Letter && m.State != store.Dead {
		return ""
	}
	return m.Key
}

// restoredRecord returns the record of a message, as the scripts would have left it.
func restoredRecord(m *store.Record) []byte {
	message := m.Message()
	b := encodeRecord(&message)
	for i := range 6 {
		b[8-i] = byte(m.Expiry >> (8 * i))
	}
	if m.Letter {
		b[1] |= flagLetter
	}
	return b
}

// holderOf returns what the field of a key has.
func holderOf(m *store.Record) string {
	switch {
	case m.Expiry > 0:
		return m.ID.String() + " " + strconv.FormatInt(m.Expiry, 10)
	case m.Repeat != "":
		return m.ID.String() + " " + m.Repeat
	}
	return m.ID.String()
}

// historyOf returns the history of a message whose last lease was on another store: it ran out.
func historyOf(m *store.Record) string {
	if m.Attempt == 0 && m.LastFailure == "" {
		return ""
	}
	doubt := map[store.Suspicion]string{store.Suspect: "u", store.Crashed: "c"}[m.Suspicion]
	return historyCounts(m) + " l" + doubt
}

// historyCounts writes "deliveries.earlier failures.snoozes", each of the two behind a point only
// if it is not 0.
func historyCounts(m *store.Record) string {
	count := func(n, more int) string {
		if more == 0 {
			return strconv.Itoa(n)
		}
		return fmt.Sprintf("%d.%d", n, more)
	}
	return count(m.Attempt, m.Earlier) + " " + count(m.Failures, m.Snoozes)
}

func rememberedOf(m *store.Record) string {
	switch {
	case !m.DedupID.IsZero():
		return strconv.FormatInt(m.Remember, 10) + " " + string(m.DedupID.AppendTo(nil))
	case m.Remember > 0:
		return strconv.FormatInt(m.Remember, 10)
	}
	return ""
}

// wholeDone is how long a body of a done message may be; longer ones are left out.
const wholeDone = 256 << 10

// pastValue returns the field of past that a done message has.
func pastValue(m *store.Record, record []byte) string {
	size := ""
	if missing := m.BodySize > len(m.Body); missing || len(m.Body) > wholeDone {
		size = "+" + strconv.Itoa(max(m.BodySize, len(m.Body)))
		record = record[:len(record)-len(m.Body)]
	}
	letter := map[store.Ending]string{store.EndingAcked: "a", store.EndingCancelled: "c", store.EndingExpired: "e"}[m.Ending]
	texts := failurelog.Of(m)
	return fmt.Sprintf("%s %s %d%s %s%s", historyCounts(m), letter, len(texts), size, texts, record)
}
