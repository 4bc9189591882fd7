package dueq

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/internal/series"
	"github.com/dueq-dev/dueq/store"
)

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

// schedule gives a recurring message that has no due time the first one of its schedule, by
// the clock of the store.
func (q *Queue) schedule(ctx context.Context, m *store.Message) error {
	if m.Repeat == "" || m.Due != 0 || m.Delay != 0 {
		return nil
	}
	s, err := series.Parse(m.Repeat)
	if err != nil {
		return err
	}
	now, err := q.client.store.Now(ctx, q.partition(m.ID.Partition()))
	if err != nil {
		return err
	}
	m.Due, err = s.Next(now, now)
	return over(err)
}
