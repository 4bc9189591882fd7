// Package series knows when recurring messages are due: it reads their schedules, and
// settles their occurrences so that the next one follows. Stores keep a schedule as a text
// that they do not interpret.
package series

import (
	"cmp"
	"errors"
	"strings"
	"time"

	cron "github.com/netresearch/go-cron"

	"github.com/dueq-dev/dueq/store"
)

// Spec is a schedule as a user gives it: Cron with Zone, or Every.
type Spec struct {
	Cron    string
	Zone    string
	Every   time.Duration
	CatchUp bool
}

// The words of a schedule's text.
const (
	wordEvery   = "every"
	wordCron    = "cron"
	wordCatchUp = "catch-up"
)

const (
	cronFields  = 5
	leastEvery  = time.Second
	mostEvery   = store.MaxDelay * time.Millisecond
	searchYears = 11 // more than store.MaxDelay
)

// String returns the text of the schedule: "every 10m0s", or "cron 0 9 * * 1-5
// Europe/Berlin", with " catch-up" behind it if it is to catch up; "" for the zero value. Equal
// schedules have equal texts.
func (s Spec) String() string {
	var words []string
	switch {
	case s == Spec{}:
		return ""
	case s.Every != 0:
		words = []string{wordEvery, s.Every.String()}
	default:
		words = append([]string{wordCron}, strings.Fields(s.Cron)...)
		words = append(words, cmp.Or(s.Zone, "UTC"))
	}
	if s.CatchUp {
		words = append(words, wordCatchUp)
	}
	return strings.Join(words, " ")
}

// ParseSpec reads what String wrote. The zone may be left out. It does not check that the
// times and the zone exist: [Spec.Schedule] does.
func ParseSpec(text string) (Spec, error) {
	words := strings.Fields(text)
	var s Spec
	if n := len(words); n > 0 && words[n-1] == wordCatchUp {
		s.CatchUp, words = true, words[:n-1]
	}
	switch {
	case len(words) == 2 && words[0] == wordEvery:
		var err error
		if s.Every, err = time.ParseDuration(words[1]); err != nil || s.Every == 0 {
			return Spec{}, store.Unfit("every", words[1], " is not a span such as 10m or 1h30m")
		}
		return s, nil
	case len(words) > 1 && words[0] == wordCron:
		n := min(1+fieldsOf(words[1]), len(words))
		s.Cron = strings.Join(words[1:n], " ")
		switch len(words) - n {
		case 0:
			return s, nil
		case 1:
			s.Zone = words[n]
			return s, nil
		}
	}
	return Spec{}, store.Unfit("repeat", text, `: want "every 10m" or "cron 0 9 * * 1-5 Europe/Berlin", and "catch-up" behind it if so`)
}

// fieldsOf returns how many words a cron expression has that begins with one.
func fieldsOf(first string) int {
	if strings.HasPrefix(first, "@") {
		return 1
	}
	return cronFields
}

// Schedule computes the times of a Spec.
type Schedule struct {
	CatchUp bool

	every time.Duration // 0: spec in zone
	spec  cron.Schedule
	zone  *time.Location
}

// Schedule returns the Schedule of s, or an *Error of kind ErrInvalid for the first invalid
// field.
func (s Spec) Schedule() (*Schedule, error) {
	switch {
	case s.Every != 0 && (s.Cron != "" || s.Zone != ""):
		return nil, store.Invalid("repeat", "has an interval and a cron expression or a zone, want one of them")
	case s.Every != 0 && (s.Every < leastEvery || s.Every > mostEvery || s.Every%time.Millisecond != 0):
		return nil, store.Outside("every", s.Every, "%s to %s (10 years), or not whole milliseconds", leastEvery, mostEvery)
	case s.Every != 0:
		return &Schedule{every: s.Every, CatchUp: s.CatchUp}, nil
	case s.Cron == "":
		return nil, store.Invalid("repeat", "has neither an interval nor a cron expression")
	}
	spec, err := parseCron(s.Cron)
	if err != nil {
		return nil, err
	}
	zone, err := loadZone(cmp.Or(s.Zone, "UTC"))
	if err != nil {
		return nil, err
	}
	if err := store.ValidateRepeat(s.String()); err != nil {
		return nil, err
	}
	return &Schedule{spec: spec, zone: zone, CatchUp: s.CatchUp}, nil
}

// Parse returns the Schedule of a text that Spec.String wrote.
func Parse(text string) (*Schedule, error) {
	s, err := ParseSpec(text)
	if err != nil {
		return nil, err
	}
	return s.Schedule()
}

// parseCron reads an expression as crontab(5) has it: a day matches when the day of the month
// or the day of the week does, if both are restricted.
func parseCron(text string) (cron.Schedule, error) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if first == "@every" || strings.Contains(first, "=") {
		return nil, store.Unfit("cron", text, ": an interval belongs into Every, a time zone into Zone")
	}
	parser, err := cron.TryNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.Extended | cron.DowOrDom)
	if err != nil {
		return nil, store.Invalid("cron", "%w", err)
	}
	// In lower case, because the parser takes the H of THU for its hash syntax.
	spec, err := parser.WithMaxSearchYears(searchYears).Parse(strings.ToLower(text))
	if err != nil {
		return nil, store.Unfit("cron", text, ": %w", err)
	}
	return spec, nil
}

func loadZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, store.Invalid("zone", "Local is another one on each machine: want a name such as Europe/Berlin")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, store.Unfit("zone", name, " is not known here (a program that imports time/tzdata knows all zones without the system's data): %w", err)
	}
	return zone, nil
}

// ErrOver says that a schedule has no time within the next 10 years.
var ErrOver = errors.New("has no time within 10 years")

// Next returns the first time of the schedule after an instant, in unix ms. For an interval it
// is from + a multiple of it, from being an earlier due time.
func (s *Schedule) Next(from, after int64) (int64, error) {
	next := int64(0)
	if s.every > 0 {
		every := s.every.Milliseconds()
		next = from + max((after-from)/every+1, 1)*every
	} else if t := s.nextTime(time.UnixMilli(after)); !t.IsZero() {
		next = t.UnixMilli()
	}
	if next == 0 || next > after+store.MaxDelay {
		return 0, ErrOver
	}
	return next, nil
}

// nextTime goes through the matching wall-clock times, in a calendar without changes of the
// offset, and returns the first whose instant is after t.
func (s *Schedule) nextTime(t time.Time) time.Time {
	wall := t.In(s.zone)
	wall = time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), time.UTC)
	for {
		if wall = s.spec.Next(wall); wall.IsZero() {
			return time.Time{}
		}
		if at := instantOf(wall, s.zone); at.After(t) {
			return at
		}
	}
}

// instantOf returns the instant at which clocks of a zone show the time that wall has in UTC:
// the first one if they show it twice, and the instant at which they are put forward if they
// skip it.
func instantOf(wall time.Time, zone *time.Location) time.Time {
	const before = 48 * time.Hour // more than any two offsets differ
	for period := wall.In(zone).Add(-before); ; {
		_, offset := period.Zone()
		start, end := period.ZoneBounds()
		at := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if end.IsZero() || at.Before(end) {
			if at.Before(start) {
				return start
			}
			return at
		}
		period = end
	}
}
