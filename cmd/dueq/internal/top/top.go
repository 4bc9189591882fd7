// Package top is the live screen of dueq top: what it shows is a function of a snapshot and of the
// keys that were pressed.
package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// Queue is a queue in a snapshot. Rates are per second.
type Queue struct {
	Name      string
	Paused    bool
	Scheduled int64
	Ready     int64
	Leased    int64
	Dead      int64
	Consumers int
	Oldest    time.Duration // how long the oldest message has been due
	Sent      float64
	Delivered float64
	Acked     float64
	Failed    float64
}

// Detail is what is shown of one queue.
type Detail struct {
	Queue   string
	Members []string // a line for each consumer
	Ready   int64
	InHour  int64
	InDay   int64
	Leased  []string // a line for each of the first messages
	Dead    []string // likewise
}

// Snapshot is a store at one time.
type Snapshot struct {
	At     time.Time
	Queues []Queue
	Detail *Detail // of the queue that is open
	Err    string  // why there is no later one
}

// Action is what a key asks the program for.
type Action int

// The actions.
const (
	Nothing Action = iota
	Quit
	Refresh // a snapshot is needed now
)

// orders are what queues are sorted by, in the order in which the key s takes them.
var orders = [...]struct { //nolint:gochecknoglobals // a table that nothing changes
	name    string
	compare func(a, b Queue) int
}{
	{"name", func(a, b Queue) int { return cmp.Compare(a.Name, b.Name) }},
	{"oldest", func(a, b Queue) int { return cmp.Compare(b.Oldest, a.Oldest) }},
	{"ready", func(a, b Queue) int { return cmp.Compare(b.Ready, a.Ready) }},
	{"dead", func(a, b Queue) int { return cmp.Compare(b.Dead, a.Dead) }},
	{"rate", func(a, b Queue) int { return cmp.Compare(b.Delivered, a.Delivered) }},
}

// Model is the state of the screen. The zero value is a screen without a snapshot.
type Model struct {
	Width, Height int
	Store         string
	Snapshot      Snapshot
	Open          string // the queue that is shown alone; "": all
	Paused        bool   // no new snapshots are shown
	sort          int
	selected      string // name of the selected queue
}

// Press returns the screen after a key, and what it asks for.
func (m Model) Press(key string) (Model, Action) {
	switch key {
	case "q", "ctrl+c":
		return m, Quit
	case "esc", "backspace", "left":
		if m.Open == "" {
			return m, Nothing
		}
		m.Open, m.Snapshot.Detail = "", nil
	case "enter", "right":
		if i := m.index(); m.Open == "" && i >= 0 {
			m.Open = m.sorted()[i].Name
			return m, Refresh
		}
	case "s":
		m.sort = (m.sort + 1) % len(orders)
	case "p", "space", " ":
		m.Paused = !m.Paused
		if !m.Paused {
			return m, Refresh
		}
	case "r":
		return m, Refresh
	case "up", "k":
		return m.move(-1), Nothing
	case "down", "j":
		return m.move(1), Nothing
	}
	return m, Nothing
}

// Show returns the screen with a new snapshot. While it is paused, it stays as it is. After an error
// the queues of before are still shown.
func (m Model) Show(s Snapshot) Model {
	switch {
	case m.Paused:
		return m
	case s.Err != "":
		m.Snapshot.Err = s.Err
		return m
	}
	m.Snapshot = s
	return m
}

func (m Model) sorted() []Queue {
	all := slices.Clone(m.Snapshot.Queues)
	slices.SortStableFunc(all, func(a, b Queue) int {
		return cmp.Or(orders[m.sort].compare(a, b), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// index returns where the selected queue is, or the first one if it is gone; -1 without queues.
func (m Model) index() int {
	all := m.sorted()
	if len(all) == 0 {
		return -1
	}
	return max(0, slices.IndexFunc(all, func(q Queue) bool { return q.Name == m.selected }))
}

func (m Model) move(by int) Model {
	if all := m.sorted(); len(all) > 0 && m.Open == "" {
		m.selected = all[min(max(0, m.index()+by), len(all)-1)].Name
	}
	return m
}

// View returns the lines of the screen: at most Height of at most Width characters.
func (m Model) View() string {
	lines := append(m.head(), m.body()...)
	foot := "q quit  s sort: " + orders[m.sort].name + "  p pause  enter open  arrows select"
	if m.Open != "" {
		foot = "q quit  esc all queues  p pause"
	}
	if room := m.Height - 1; m.Height > 1 && len(lines) > room {
		lines = lines[:room]
	}
	lines = append(lines, foot)
	for i := range lines {
		lines[i] = term.Cut(lines[i], max(1, m.Width))
	}
	return strings.Join(lines, "\n")
}

// head has the totals, and what is wrong.
func (m Model) head() []string {
	var ready, leased, dead int64
	var oldest time.Duration
	for _, q := range m.Snapshot.Queues {
		ready, leased, dead, oldest = ready+q.Ready, leased+q.Leased, dead+q.Dead, max(oldest, q.Oldest)
	}
	state := ""
	if m.Paused {
		state = "  PAUSED"
	}
	lines := []string{
		"dueq top  " + term.Escape(m.Store) + "  " + m.Snapshot.At.Format(time.TimeOnly) + state,
		fmt.Sprintf("%d queues, %d ready, %d leased, %d dead, oldest ready %s", len(m.Snapshot.Queues), ready, leased, dead, span(oldest)),
	}
	if m.Snapshot.Err != "" {
		lines = append(lines, "cannot read the store: "+term.Escape(m.Snapshot.Err))
	}
	return append(lines, "")
}

func (m Model) body() []string {
	if m.Open != "" {
		return m.detail()
	}
	all := m.sorted()
	rows := make([][]string, len(all))
	for i, q := range all {
		rows[i] = append([]string{m.mark(i) + named(q)}, cells(q)...)
	}
	table := strings.Split(strings.TrimSuffix(term.Table(append([]string{"  QUEUE"}, columns()...), rows), "\n"), "\n")
	return m.window(table)
}

// window returns the header of a table and as many rows as fit, the selected one among them.
func (m Model) window(table []string) []string {
	const besides = 2 // the header of the table, and the last line
	fit := m.Height - len(m.head()) - besides
	if m.Height == 0 || fit < 1 || len(table)-1 <= fit {
		return table
	}
	first := min(max(0, m.index()-fit+1), len(table)-1-fit)
	return append(table[:1:1], table[1+first:1+first+fit]...)
}

func (m Model) mark(i int) string {
	if i == m.index() {
		return "> "
	}
	return "  "
}

func named(q Queue) string {
	if q.Paused {
		return q.Name + " (paused)"
	}
	return q.Name
}

func columns() []string {
	return []string{"SCHED", "READY", "LEASED", "DEAD", "CONS", "OLDEST", "SENT/S", "DELIV/S", "ACK/S", "FAIL/S"}
}

func cells(q Queue) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	rate := func(r float64) string { return strconv.FormatFloat(r, 'f', 1, 64) }
	return []string{
		number(q.Scheduled), number(q.Ready), number(q.Leased), number(q.Dead), strconv.Itoa(q.Consumers), span(q.Oldest),
		rate(q.Sent), rate(q.Delivered), rate(q.Acked), rate(q.Failed),
	}
}

func span(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// detail has one queue, its consumers, what becomes due, and its first leased and dead messages.
func (m Model) detail() []string {
	lines := []string{"queue " + term.Escape(m.Open)}
	for _, q := range m.Snapshot.Queues {
		if q.Name == m.Open {
			lines = strings.Split(strings.TrimSuffix(term.Table(append([]string{"QUEUE"}, columns()...), [][]string{append([]string{named(q)}, cells(q)...)}), "\n"), "\n")
		}
	}
	d := m.Snapshot.Detail
	if d == nil || d.Queue != m.Open {
		return append(lines, "", "reading ...")
	}
	lines = append(lines, "", fmt.Sprintf("due: %d now, %d within an hour, %d within a day", d.Ready, d.InHour, d.InDay))
	for _, part := range []struct {
		title string
		lines []string
	}{{"consumers", d.Members}, {"leased", d.Leased}, {"dead", d.Dead}} {
		lines = append(lines, "", part.title+":")
		if len(part.lines) == 0 {
			lines = append(lines, "  none")
		}
		for _, line := range part.lines {
			lines = append(lines, "  "+term.Escape(line))
		}
	}
	return lines
}
