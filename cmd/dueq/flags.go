package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/when"
)

// span is a flag for a duration; weeks and days are allowed.
type span struct{ value *time.Duration }

func (s span) String() string {
	if s.value == nil {
		return "0s"
	}
	return s.value.String()
}

func (s span) Type() string { return "duration" }

func (s span) Set(text string) (err error) {
	*s.value, err = when.Span(text)
	return err
}

// instant is a flag for a point in time.
type instant struct{ value *time.Time }

func (i instant) String() string { return "" }
func (i instant) Type() string   { return "time" }

func (i instant) Set(text string) (err error) {
	*i.value, err = when.Instant(text)
	return err
}

// repeat is a flag for a schedule.
type repeat struct{ value *dueq.Repeat }

func (r repeat) String() string { return "" }
func (r repeat) Type() string   { return "schedule" }

func (r repeat) Set(text string) (err error) {
	*r.value, err = dueq.ParseRepeat(text)
	return err
}

// choice is a flag with a few possible values.
type choice struct {
	value *string
	of    []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return strings.Join(c.of, "|") }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("want one of %s", strings.Join(c.of, ", "))
	}
	*c.value = text
	return nil
}

// headers is a flag name=value that may be repeated.
type headers struct{ value map[string]string }

func (h headers) String() string { return "" }
func (h headers) Type() string   { return "name=value" }

func (h headers) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("want name=value")
	}
	if _, twice := h.value[name]; twice {
		return fmt.Errorf("header %q is given twice", name)
	}
	h.value[name] = value
	return nil
}

// factor is a flag for a positive number.
type factor struct{ value *float64 }

const maxFactor = 1e9

func (f factor) String() string { return "" }
func (f factor) Type() string   { return "number" }

func (f factor) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v <= 0 || v > maxFactor {
		return fmt.Errorf("want a number above 0, up to %g", maxFactor)
	}
	*f.value = v
	return nil
}

// rate is a flag for a number of requests per second, minute or hour.
type rate struct{ perSecond *float64 }

func (r rate) String() string { return "" }
func (r rate) Type() string   { return "rate" }

func (r rate) Set(text string) (err error) {
	*r.perSecond, err = when.Rate(text)
	return err
}

// scheduleFlags adds --delay and --at, and returns what reads them afterwards.
func scheduleFlags(cmd *cobra.Command) func() (dueq.Schedule, error) {
	var s dueq.Schedule
	cmd.Flags().Var(span{&s.Delay}, "delay", "time from now until the message is due: 90s, 1h30m, 2d")
	cmd.Flags().Var(instant{&s.Due}, "at", "when the message is due, in RFC 3339: 2030-01-31T18:00:00Z; the past means now")
	return func() (dueq.Schedule, error) {
		if cmd.Flags().Changed("delay") && cmd.Flags().Changed("at") {
			return s, usage("--at: is given together with --delay, want one of them")
		}
		return s, nil
	}
}

// fileOption is a flag for the name of a file that becomes an option of the store's URL.
type fileOption struct {
	files  map[string]string
	option string
}

func (f fileOption) String() string { return f.files[f.option] }
func (f fileOption) Type() string   { return "file" }

func (f fileOption) Set(name string) error {
	if name == "" {
		return errors.New("is empty, want the name of a file")
	}
	f.files[f.option] = name
	return nil
}
