package dueq

import (
	"errors"
	"time"

	"github.com/dueq-dev/dueq/internal/series"
)

// Message is what a producer sends. The zero value is a message without a body that
// is due at once.
type Message struct {
	// ID repeats an earlier Send whose outcome is unknown: the id it returned. If that one
	// was stored, nothing happens: as long as the message is live or dead and, when it is
	// gone, for another DedupFor, whichever client or process sends it again. Without
	// DedupFor, only the client that sent it first, if it still runs, recognizes it then, for
	// up to an hour. "": Send makes a new id.
	ID string
	// DedupID is a name of your own for this send, such as "payment-7:email": of the messages
	// with the same DedupID only the first is stored, whatever the others contain. They are
	// recognized as long as it is live or dead and, when it is gone, be it acked, cancelled,
	// expired or purged, for another DedupFor. A repetition succeeds: Send returns the id of
	// the first message, and SendResult.Deduplicated and SendEvent.Deduplicated are true. Of
	// any length. A DedupID is one of a queue, unless messages have keys: with
	// different keys, the same DedupID can be stored more than once.
	DedupID string
	// DedupFor is for how long this message is remembered when it is gone, by its ID and by
	// its DedupID: up to 24 h. Default Settings.DedupFor, which is 0 unless it is set: not at
	// all. For the bound on how many are remembered, see there.
	DedupFor time.Duration
	// Key is a name of your own, such as "order-42": at most one message of a queue that
	// is scheduled, ready or leased has a given key. Up to 255 bytes of printable UTF-8.
	Key string
	// Headers travel with the body: up to 64, 8 KiB together, with names as in HTTP.
	Headers map[string]string
	// Body is opaque to dueq: up to the queue's Settings.MaxBody bytes, 256 KiB unless
	// configured otherwise.
	Body []byte

	// Delay from now, on the store's clock, until the message is due: up to 10 years.
	Delay time.Duration
	// Due is the earliest instant of delivery, as an alternative to Delay. One in the
	// past means now.
	Due time.Time
	// MaxAttempts is how many deliveries may fail before the message is dead: 1 to
	// 1000. Default Settings.MaxAttempts, which is 25 unless it is set: about 20
	// days with [DefaultBackoff]. A lease that runs out is a failure only if the store knew that
	// the handler had started, which it does on the last attempt and after a lease that
	// ran out before: a message whose handler ends the process each time is delivered
	// MaxAttempts + 1 times at most, and one that nobody has started is never dead. With
	// 1, every delivery costs one more call, shared with others made at the same time.
	MaxAttempts int
	// TTL from now after which the message is no longer delivered but removed, unless
	// it is being held then. It must end after the message is due ([ErrInvalid]), and a
	// redrive ends it. Default 0: none.
	TTL time.Duration
	// Replace takes Key from the message that has it, if that one is scheduled or
	// ready, and removes that message. One that is leased is still [ErrDuplicate].
	Replace bool
	// Repeat makes the message recur, see [Repeat]. It needs a Key, and TTL must be 0. Where
	// Delay and Due are 0, it is due first at the first time of the schedule that is to come, by
	// the store's clock; to find that out, Send makes one call more.
	Repeat Repeat
}

// Schedule is a new due time for a message: after Delay, or at Due; one of the two.
// The zero value is now.
type Schedule struct {
	Delay time.Duration // from now, on the store's clock
	Due   time.Time     // an instant; one in the past means now
}

// SendResults are what became of the messages of a [Queue.SendBatch], in their order.
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

// SendResult is what became of one message of a [Queue.SendBatch].
type SendResult struct {
	ID  string // "" if the message was definitely not stored
	Err error  // nil: stored
	// Deduplicated: the message was not stored, since one with its DedupID had been sent
	// before under another id: ID is that one.
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
// A series is one message, with one id and one key. What its handler returns for an
// occurrence schedules the next one in the same step of the store: there is never a second
// one beside it, none is lost in a crash, and no process has to be elected to schedule
// anything. [Queue.Get], [Queue.Reschedule], [Queue.Cancel] and the rest treat it as any
// message; a cancel ends it, also while it is running.
//
// Send declares it: nothing changes if the live message with the key has the same Repeat.
// Otherwise that one gets the new Repeat, with the body, headers, MaxAttempts and due time of
// what was sent, and keeps its id, which Send returns in both cases. So an application can send
// its recurring messages whenever it starts, in every process. An occurrence that is running
// goes on; what comes after it follows the new Repeat.
//
// An occurrence is done when its handler returns nil or [Drop], or it is acked. It is retried
// like any message; the series waits meanwhile. When it fails for good (the last attempt, or
// [Reject]), a dead letter is made of it, with an id of its own, and the series goes on. The
// dead letter names the key but does not hold it, so it can be redriven beside the series,
// and is delivered once more. [Again] chooses another time for the next occurrence, once.
//
// An occurrence is missed when it could not be handed out before the next time of the
// schedule. It is left out, unless CatchUp is set: then all that was missed is one run. Times
// that pass while a handler runs are left out in any case.
type Repeat struct {
	// Cron is an expression as in crontab(5), minute, hour, day of the month, month, day of
	// the week, or @hourly, @daily, @weekly, @monthly, @yearly. If both days are restricted,
	// either is enough. "L" is the last day of the month, "15W" the weekday nearest to the
	// 15th, "FRI#2" the second Friday.
	Cron string
	// Zone is where Cron is read, such as "Europe/Berlin"; "" is UTC. A time that does not exist
	// there, because clocks are put forward, is the next one that does; one that exists twice
	// counts the first time. A program that runs where there is no time zone data must import
	// time/tzdata. A consumer that does not know a zone leaves the message to others.
	Zone string
	// Every is the span from the due time of one occurrence to that of the next: 1 s to 10
	// years, whole milliseconds. A retry or a reschedule moves those that follow.
	Every time.Duration
	// CatchUp: what was missed is run, once, before the series goes on.
	CatchUp bool
}

// ParseRepeat reads what [Repeat.String] wrote, such as "every 10m" or "cron 0 9 * * 1-5
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

// String returns the schedule as one line: "every 10m0s", or "cron 0 9 * * 1-5
// Europe/Berlin", and " catch-up" behind it; "" for the zero value. Two schedules with the same
// line are the same to [Queue.Send].
func (r Repeat) String() string { return series.Spec(r).String() }

// Next returns the first time of the schedule after an instant; of an interval, that is one
// interval later. Errors: [ErrInvalid], also when there is none within 10 years.
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

// text returns r as the store keeps it, or what is wrong with it.
func (r Repeat) text() (string, error) {
	if r == (Repeat{}) {
		return "", nil
	}
	if _, err := series.Spec(r).Schedule(); err != nil {
		return "", err
	}
	return r.String(), nil
}

// toRepeat is the reverse of text. A schedule that a newer version has written is shown as an
// expression.
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

// toSpan returns d in ms, rounded up, so that nothing becomes due a fraction early.
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
		return -1 // past is past, however far: UnixMilli can overflow
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
