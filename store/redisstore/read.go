package redisstore

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/dueq-dev/dueq/internal/failurelog"
	"github.com/dueq-dev/dueq/store"
)

// Get implements store.Store. A message whose record is missing or cannot be read is
// ErrCorrupt.
func (s *Store) Get(ctx context.Context, p store.Partition, ref store.Ref) (store.Record, error) {
	if err := firstError(p.Validate(), ref.Validate()); err != nil {
		return store.Record{}, err
	}
	got, err := s.run(ctx, call{
		op: "get", queue: p.Queue, script: s.scripts["get"],
		keys: s.partitionKeys(p, allKeys), args: []any{refText(ref)},
	})
	if err != nil {
		return store.Record{}, err
	}
	fields, ok := got.([]any)
	switch {
	case !ok || len(fields) != 0 && len(fields) != gotten:
		return store.Record{}, fail("get", p.Queue, unexpected(got))
	case len(fields) == 0:
		return store.Record{}, notFound(p, ref)
	}
	r, err := readGet(fields)
	if err != nil {
		return store.Record{}, &store.Error{Op: "get", Queue: p.Queue, ID: text(fields[1]), Err: err}
	}
	return r, nil
}

// gotten is how many fields get answers for a message.
const gotten = 10

// readGet reads {state, id, at, record, history, failure, cancel, body size, holder, memory}.
func readGet(fields []any) (store.Record, error) {
	in := numbers{script: "get"}
	r := store.Record{State: store.State(text(fields[0])), At: in.read("at", fields[2]), Holder: text(fields[8])}
	if in.err != nil {
		return store.Record{}, in.err
	}
	if err := fillRecord(&r, text(fields[1]), text(fields[3]), fields[4:]); err != nil {
		return store.Record{}, err
	}
	readMemory(&r, text(fields[9]))
	r.BodySize = len(r.Body)
	if fields[7] != nil {
		r.BodySize = int(in.read("body size", fields[7]))
	}
	return r, in.err
}

func notFound(p store.Partition, ref store.Ref) error {
	e := &store.Error{Op: "get", Queue: p.Queue, Err: store.ErrNotFound}
	if ref.ID.IsZero() {
		e.Err = fmt.Errorf("key %+q: %w", ref.Key, store.ErrNotFound)
	} else {
		e.ID = ref.ID.String()
	}
	return e
}

// fillRecord reads what the scripts know of a message; more is its history, its failure
// texts and its cancel request. On an error everything but the record itself is there.
func fillRecord(r *store.Record, id, stored string, more []any) error {
	var err error
	if r.ID, err = store.ParseID(id); err != nil {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	if history := text(more[0]); history != "" {
		if err := readHistory(r, history); err != nil {
			return err
		}
	}
	if r.State == store.Leased {
		r.Attempt++
	}
	readTexts(r, text(more[1]))
	r.Cancelling = text(more[2]) != ""
	got, err := decodeRecord(stored)
	if err != nil {
		return err
	}
	r.Key, r.Headers, r.Body = got.key, got.headers, []byte(got.body)
	r.MaxAttempts, r.Expiry, r.Repeat, r.Letter = got.maxAttempts, got.expiry, got.repeat, got.letter
	return nil
}

// readTexts reads failure texts. What is none is for Check to report, and is shown as it is.
func readTexts(r *store.Record, texts string) {
	r.LastFailure = texts
	if r.RecentFailures, _ = failurelog.Parse(texts); len(r.RecentFailures) > 0 {
		r.LastFailure = r.RecentFailures[0].Text
	}
}

// readMemory reads "ms dedup", of a live message. What cannot be read is for Check to report.
func readMemory(r *store.Record, memory string) {
	span, name, _ := strings.Cut(memory, " ")
	if n, err := strconv.ParseInt(span, 10, 64); err == nil {
		r.Remember = n
		_ = r.DedupID.UnmarshalText([]byte(name)) // as above
	}
}

// readHistory reads "deliveries failures how": the deliveries with those of earlier occurrences, the
// failures with the snoozes behind a point where there are any.
func readHistory(r *store.Record, history string) error {
	words := strings.Split(history, " ")
	if len(words) != 3 {
		return fmt.Errorf("history %.40q: %w", history, store.ErrCorrupt)
	}
	deliveries, earlier, _ := strings.Cut(words[0], ".")
	failures, snoozes, _ := strings.Cut(words[1], ".")
	for _, count := range []struct {
		to   *int
		text string
	}{{&r.Attempt, deliveries}, {&r.Earlier, earlier}, {&r.Failures, failures}, {&r.Snoozes, snoozes}} {
		if count.text == "" && (count.to == &r.Earlier || count.to == &r.Snoozes) {
			continue
		}
		n, err := strconv.Atoi(count.text)
		if err != nil {
			return fmt.Errorf("history %.40q: %w", history, store.ErrCorrupt)
		}
		*count.to = n
	}
	if r.State == store.Done {
		r.Ending = ending(words[2])
		return nil
	}
	switch {
	case strings.Contains(words[2], "u"):
		r.Suspicion = store.Suspect
	case strings.Contains(words[2], "c"):
		r.Suspicion = store.Crashed
	}
	return nil
}

// ending returns how a message ended whose history ends with a letter of done.lua.
func ending(letter string) store.Ending {
	switch letter {
	case "a":
		return store.EndingAcked
	case "c":
		return store.EndingCancelled
	default:
		return store.EndingExpired
	}
}

// List implements store.Store. A page may have fewer records than r.Limit when they are
// large, and yet a next one. A message whose record cannot be read is listed without
// what is in it.
func (s *Store) List(ctx context.Context, p store.Partition, r store.ListRequest) (store.Page, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return store.Page{}, err
	}
	place, err := listPlace(r)
	if err != nil {
		return store.Page{}, err
	}
	got, err := s.run(ctx, call{
		op: "list", queue: p.Queue, script: s.scripts["list"], keys: s.partitionKeys(p, allKeys),
		args: []any{string(r.State), r.Limit, r.BodyLimit, place.score, place.member, bit(r.Descending)},
	})
	if err != nil {
		return store.Page{}, err
	}
	fields, ok := got.([]any)
	if !ok || len(fields)%listed != 1 {
		return store.Page{}, fail("list", p.Queue, unexpected(got))
	}
	found, err := readPage(r, fields)
	if err != nil {
		return store.Page{}, fail("list", p.Queue, err)
	}
	return found, nil
}

// listed is how many fields a message has in the answer to a list.
const listed = 9

// aliasBits are those of the score of a lease that stand for its holder.
const aliasBits = 10

// readPage reads {more, member, score, record, body size, history, failure, cancel, holder, memory, ...}.
func readPage(q store.ListRequest, fields []any) (out store.Page, err error) {
	in := numbers{script: "list"}
	more, fields := in.read("more", fields[0]) == 1, fields[1:]
	if more {
		last := fields[len(fields)-listed:]
		out.Next = place{q.Descending, text(last[1]), text(last[0])}.cursor()
	}
	for ; len(fields) > 0; fields = fields[listed:] {
		id, _, _ := strings.Cut(text(fields[0]), ":")
		r := store.Record{State: q.State, At: in.read("score", fields[1]), BodySize: int(in.read("body size", fields[3])), Holder: text(fields[7])}
		if q.State == store.Leased {
			r.At >>= aliasBits
		}
		// An element that is no message is for Check to report.
		if err := fillRecord(&r, id, text(fields[2]), fields[4:]); err != nil && r.ID.IsZero() {
			continue
		}
		readMemory(&r, text(fields[8]))
		out.Records = append(out.Records, r)
		if q.Cursors {
			out.Cursors = append(out.Cursors, place{q.Descending, text(fields[1]), text(fields[0])}.cursor())
		}
	}
	return out, in.err
}

// place is that of an element of a zset in a list, or between two of them.
type place struct {
	descending    bool
	score, member string
}

// listPlace returns the place at which a page begins; without a score it is the end of the order.
func listPlace(r store.ListRequest) (place, error) {
	if r.Cursor == "" {
		p := place{descending: r.Descending}
		if r.From > 0 {
			p.score = leastScore(r)
		}
		return p, nil
	}
	p, err := parseCursor(r.Cursor)
	if err == nil && p.descending != r.Descending {
		err = r.OtherOrder()
	}
	if !p.descending {
		p.member += "\x00" // behind the member itself
	}
	return p, err
}

// leastScore returns the least score of those with r.From, or where a list is descending of those
// behind it.
func leastScore(r store.ListRequest) string {
	from := r.From
	if r.Descending {
		from++
	}
	if r.State == store.Leased {
		const beyondLeases = 1 << 42 // ms; their scores end below 1<<52
		from = min(from, beyondLeases) << aliasBits
	}
	return strconv.FormatInt(from, 10)
}

// cursor returns the text of a place: "score member", of a descending list "dscore member".
func (p place) cursor() string {
	text := p.score + " " + p.member
	if p.descending {
		text = "d" + text
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

func parseCursor(s string) (p place, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	text, descending := strings.CutPrefix(string(b), "d")
	score, member, ok := strings.Cut(text, " ")
	broken := strings.ContainsAny(s, "\r\n") // which the decoder skips
	if _, bad := strconv.ParseInt(score, 10, 64); err != nil || bad != nil || !ok || len(member) > 256 || broken {
		return place{}, store.Unfit("cursor", s, " is not a cursor")
	}
	return place{descending, score, member}, nil
}
