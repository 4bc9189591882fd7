package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// Intro returns the text that explains the show.
func Intro(store string, length time.Duration) string {
	return fmt.Sprintf(`Two days of the real US flight schedule of January 2001, replayed in %.0f seconds on %s

  Each of the 441 flights is one message, sent now, that is due at its departure time and
  must not be delivered earlier. Three consumers, gates A, B and C, handle what is due.
  Some flights fail and are tried again, one fails until it is dead, one is cancelled and
  one is delayed while it waits.

`, length.Seconds(), store)
}

// Board returns a screen for a terminal: a departures board that is drawn in place.
func Board(w io.Writer, colour bool) func(View) {
	const rows, head = 12, 4
	live := term.Live{W: w}
	width := term.Width(w, 100)
	var lines []string
	return func(v View) {
		for _, e := range v.Events {
			line := term.Cut(e.line(), width-1)
			if colour {
				line = e.Kind.colour() + line + "\x1b[0m"
			}
			lines = append(lines, line)
		}
		lines = lines[max(0, len(lines)-rows):]
		screen := append([]string{
			term.Cut(fmt.Sprintf("  %s  %s", v.Clock.Format("Mon _2 Jan 15:04"), term.Bar(v.Share, 40)), width-1),
			term.Cut("  "+v.summary(), width-1),
			"",
			term.Cut("  TIME   FLIGHT             GATE  STATUS", width-1),
		}, lines...)
		for len(screen) < rows+head {
			screen = append(screen, "")
		}
		_ = live.Draw(append(screen, "")) // it is for looking at, nothing depends on it
	}
}

// Log returns a screen for output that is no terminal: a line for each unusual event, and one for
// every eighth of the show.
func Log(w io.Writer) func(View) {
	const parts = 8
	shown := 0
	return func(v View) {
		for _, e := range v.Events {
			if e.Kind != Departed || e.Attempt > 1 || e.Rescheduled {
				_, _ = fmt.Fprintln(w, e.line()) // it is for looking at, nothing depends on it
			}
		}
		if part := int(v.Share * parts); part > shown {
			shown = part
			_, _ = fmt.Fprintf(w, "  %s  %s\n", v.Clock.Format("Mon 2 Jan 15:04"), v.summary()) // as above
		}
	}
}

func (v View) summary() string {
	c := v.Counts
	return fmt.Sprintf("%d of %d departed, %d retried, %d dead, %d cancelled, %d early",
		c.Delivered, c.Sent, c.Retried, c.Dead, c.Cancelled, c.Early)
}

// line returns the event as a line of the board.
func (e Event) line() string {
	gate := e.Gate
	if gate == "" {
		gate = "-"
	}
	return fmt.Sprintf("  %s  %s → %s %5d mi  %-4s  %s", e.Departs.Format("15:04"), e.Origin, e.Destination, e.Miles, gate, e.status())
}

func (e Event) status() string {
	switch e.Kind {
	case Held:
		return fmt.Sprintf("held: %s (attempt %d), tried again", e.Reason, e.Attempt)
	case Grounded:
		return fmt.Sprintf("grounded: %s (attempt %d, the last), now a dead letter", e.Reason, e.Attempt)
	case Cancelled:
		return "cancelled: is never delivered"
	case Delayed:
		return "delayed: now due on " + e.To.Format("2 Jan 15:04")
	case Departed:
	}
	again := ""
	switch {
	case e.Attempt > 1:
		again = fmt.Sprintf(" at attempt %d", e.Attempt)
	case e.Rescheduled:
		again = " at its new time"
	}
	return fmt.Sprintf("departed%s, %.1f ms after its due time", again, milliseconds(e.Lateness))
}

// colour returns the escape sequence that begins a line of this kind.
func (k EventKind) colour() string {
	switch k {
	case Held:
		return "\x1b[33m"
	case Grounded, Cancelled:
		return "\x1b[31m"
	case Delayed:
		return "\x1b[36m"
	case Departed:
	}
	return "\x1b[32m"
}

// Table returns the result as a table, with the meaning of each figure.
func (r Result) Table() string {
	var b strings.Builder
	for _, row := range []struct {
		name  string
		value int
		means string
	}{
		{"sent", r.Sent, "flights"},
		{"delivered", r.Delivered, "departed: a handler has finished the work"},
		{"retried", r.Retried, "deliveries after a failure"},
		{"dead", r.Dead, fmt.Sprintf("failed %d times and kept as a dead letter", attemptsOfTheHopeless)},
		{"cancelled", r.Cancelled, "removed in time, never delivered"},
		{"early", r.Early, "delivered before the due time"},
		{"lost", r.Lost, "neither delivered, dead nor cancelled"},
	} {
		_, _ = fmt.Fprintf(&b, "  %-10s %5d   %s\n", row.name, row.value, row.means) // a Builder returns no errors
	}
	_, _ = fmt.Fprintf(&b, "  lateness   p50 %.2f ms, p99 %.2f ms, max %.2f ms, from due time to start of the handler\n",
		r.Lateness.P50, r.Lateness.P99, r.Lateness.Max)
	return b.String()
}
