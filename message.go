package dueq

import (
	"errors"
	"time"

	"github.com/dueq-dev/dueq/internal/series"
)

// Message is what a producer sends. The zero value is a message without a body that
// is due at once.
type Message struct {
	// ID repeats an earlier Send of unknown outcome: it is the id that the Send returned. If the
	// message was stored, nothing is stored again, whichever client or process sends it: as long
	// as the message is live or dead, and for DedupFor after it is gone. Without DedupFor, only
	// the client that sent it first recognizes the id after the message is gone, for up to an
	// hour while that client runs. "": Send makes a new id.
	ID string
	// DedupID is a name that the sender chooses for this send, such as "payment-7:email", of any
	// length: of the messages with the same DedupID only the first is stored, whatever the others
	// contain. They are recognized as long as the first is live or dead, and for DedupFor after
	// it is gone (acked, cancelled, expired or purged). A repeated send succeeds: it returns the
	// id of the first message, and SendResult.Deduplicated and SendEvent.Deduplicated are true. A
	// DedupID is unique in a queue, except that messages with different keys can have the same
	// DedupID.
	DedupID string
	// DedupFor is how long this message is remembered after it is gone, by its ID and its
	// DedupID: up to 24 h. Default Settings.DedupFor, which is 0 unless it is set: not at all.
	// Settings.DedupFor has the limit on how many are remembered.
	DedupFor time.Duration
	// Key is a name that the sender chooses, such as "order-42": at most one scheduled, ready or
	// leased message of a queue has a given key. Up to 255 bytes of printable UTF-8.
	Key string
	// Headers are delivered with the body: up to 64, 8 KiB together, with names as in HTTP.
	Headers map[string]string
	// Body is not interpreted by dueq: up to the queue's Settings.MaxBody bytes, 256 KiB unless
	// configured otherwise.
	Body []byte

	// Delay is the time from now, on the store's clock, until the message is due: up to 10 years.
	Delay time.Duration
	// Due is the earliest instant of delivery, as an alternative to Delay. One in the
	// past means now.
	Due time.Time
	// MaxAttempts is how many deliveries may fail before the message is dead: 1 to 1000. Default
	// Settings.MaxAttempts, which is 25 unless it is set: about 20 days with [DefaultBackoff]. A
	// lease that runs out is a failure only if the store knows that the handler had started. It
	// knows that on the last attempt, and after an earlier lease of the message ran out. So a
	// message whose handler ends the process each time is delivered MaxAttempts + 1 times at
	// most, and a message whose handler was not started does not die. With 1, every delivery
	// costs one more call, shared with concurrent ones.
	MaxAttempts int
	// TTL is the time from now after which the message is removed instead of delivered, unless it
	// is held then. It must end after the message is due ([ErrInvalid]). A redrive removes it.
	// Default 0: none.
	TTL time.Duration
	// Replace takes Key from the message that has it, if that one is scheduled or
	// ready, and removes that message. One that is leased is still [ErrDuplicate].
	Replace bool
	// Repeat makes the message recur, see [Repeat]. It needs a Key, and TTL must be 0. If Delay
	// and Due are 0, it is first due at the next time of the schedule by the store's clock, for
	// which Send makes one more call.
	Repeat Repeat
}

// Schedule is a new due time for a message: either after Delay or at Due. The zero value is now.
type Schedule struct {
	Delay time.Duration // from now, on the store's clock
	Due   time.Time     // an instant; one in the past means now
}

// SendResults are the results of the messages of a [Queue.SendBatch], in their order.
type SendResults []SendResult

// FirstErr returns the error of the first message that has one, nil if all are stored.
func (r SendResults) FirstErr() error {
	for i := range r {
		if r[i].Err != nil {
			return r[i].Err
		}
	}
	return nil
}

// SendResult is the result of one message of a [Queue.SendBatch].
type SendResult struct {
	ID  string // "" if the message was definitely not stored
	Err error  // nil: stored
	// Deduplicated: the message was not stored, because one with its DedupID was sent before. ID
	// is the id of that one.
	Deduplicated bool
}

// Repeat is the schedule of a recurring message: Cron with Zone, or Every. The zero value is
// none.
//
//	q.Send(ctx, dueq.Message{
//		Key:    "daily-report",
//		Repeat: dueq.Repeat{Cron: "0 9 * * 1-5", Zone: "Europe/Berlin"},
//	})
//
// A series is one message, with one id and one key. The verdict on an occurrence schedules the
// next one in the same atomic step of the store: so there is never more than one, a crash loses
// none, and no process must be elected to schedule them. [Queue.Get], [Queue.Reschedule],
// [Queue.Cancel] and the other methods treat the message as any other; a cancel ends the series,
// also while an occurrence is running.
//
// Send declares the message: nothing changes if the live message with the key has the same
// Repeat. Otherwise that message gets the Repeat, body, headers, MaxAttempts and due time of the
// one that is sent. In both cases it keeps its id, which Send returns. So an application can send
// its recurring messages whenever it starts, in every process. An occurrence that is running
// continues; those after it follow the new Repeat.
//
// An occurrence is done when its handler returns nil or [Drop], or it is acked. It is retried
// like any message; the series waits meanwhile. When it fails for good (the last attempt, or
// [Reject]), it becomes a dead letter with another id, and the series continues. The dead letter
// names the key but does not hold it, so that a redrive, which delivers it once more, does not
// affect the series. [Again] chooses another time for the next occurrence, once.
//
// An occurrence is missed when it could not be handed out before the next time of the schedule.
// It is skipped, unless CatchUp is set: then all missed occurrences are run as one. Times that
// pass while a handler runs are always skipped.
type Repeat struct {
	// Cron is an expression as in crontab(5), minute, hour, day of the month, month, day of
	// the week, or @hourly, @daily, @weekly, @monthly, @yearly. If both days are restricted,
	// either is enough. "L" is the last day of the month, "15W" the weekday nearest to the
	// 15th, "FRI#2" the second Friday.
	Cron string
	// Zone is the time zone of Cron, such as "Europe/Berlin"; "" is UTC. A time that does not
	// exist there, because clocks are put forward, becomes the next one that exists; a time that
	// exists twice means the first. A program on a host without time zone data must import
	// time/tzdata. A consumer that does not know a zone leaves the message to other consumers.
	Zone string
	// Every is the span from the due time of one occurrence to that of the next: 1 s to 10 years,
	// whole milliseconds. A retry or a reschedule moves the occurrences after it.
	Every time.Duration
	// CatchUp: missed occurrences are run, as one, before the series continues.
	CatchUp bool
}

// ParseRepeat parses the text of [Repeat.String], such as "every 10m" or "cron 0 9 * * 1-5
// Europe/Berlin catch-up"; without a zone it is UTC. Errors: [ErrInvalid].
func ParseRepeat(text string) (Repeat, error) {
	spec, err := series.ParseSpec(text)
	if err == nil {
		_, err = spec.Schedule()
	}
	if err != nil {
		return Repeat{}, err
	}
	return Repeat(spec), nil
}

// String returns the schedule as one line: "every 10m0s", or "cron 0 9 * * 1-5 Europe/Berlin",
// and " catch-up" behind it; "" for the zero value. [Queue.Send] treats schedules with the same
// line as equal.
func (r Repeat) String() string { return series.Spec(r).String() }

// Next returns the first time of the schedule after an instant; with Every, that is the instant
// plus the interval. Errors: [ErrInvalid], also when there is none within 10 years.
func (r Repeat) Next(after time.Time) (time.Time, error) {
	s, err := series.Spec(r).Schedule()
	if err != nil {
		return time.Time{}, err
	}
	at := after.UnixMilli()
	next, err := s.Next(at, at)
	if err != nil {
		return time.Time{}, over(err)
	}
	return time.UnixMilli(next).In(after.Location()), nil
}

func over(err error) error {
	if errors.Is(err, series.ErrOver) {
		return invalid("repeat", "%w", err)
	}
	return err
}

// text returns r in the form of the store, or an error if it is invalid.
func (r Repeat) text() (string, error) {
	if r == (Repeat{}) {
		return "", nil
	}
	if _, err := series.Spec(r).Schedule(); err != nil {
		return "", err
	}
	return r.String(), nil
}

// toRepeat is the reverse of text. A schedule of a newer version becomes a Cron expression.
func toRepeat(text string) Repeat {
	if text == "" {
		return Repeat{}
	}
	spec, err := series.ParseSpec(text)
	if err != nil {
		return Repeat{Cron: text}
	}
	return Repeat(spec)
}

// toSpan returns d in ms, rounded up, so that no message becomes due early.
func toSpan(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > time.Duration(ms)*time.Millisecond {
		ms++
	}
	return ms
}

// farthest is an instant that every store refuses as too far ahead (year 9999) and
// that no arithmetic on milliseconds can overflow.
const farthest = 253402300799999

// toInstant returns t in unix ms, rounded up; 0 for the zero time.
func toInstant(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Unix() >= farthest/1000:
		return farthest
	case t.Unix() < 0:
		return -1 // any past instant will do: UnixMilli can overflow
	}
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return max(ms, 1) // 0 would mean none
}

// fromInstant is the reverse of toInstant, in the local time zone as time.Now.
func fromInstant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func fromSpan(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
