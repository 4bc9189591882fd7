package top

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden frames")

func scene() Model {
	return Model{Width: 110, Height: 16, Store: "redis://host:6379"}.Show(Snapshot{
		At: time.Date(2030, 1, 31, 3, 0, 4, 0, time.UTC),
		Queues: []Queue{
			{Name: "mails", Paused: true, Ready: 3, Oldest: 5*time.Minute + 400*time.Millisecond},
			{Name: "orders", Scheduled: 1200, Ready: 1, Leased: 12, Dead: 40, Consumers: 4, Oldest: 15 * time.Millisecond, Sent: 12.34, Delivered: 250, Acked: 249.5, Failed: 0.5},
			{Name: "bad\x1b[2Jname", Dead: 1},
		},
	})
}

func pressed(m Model, keys ...string) Model {
	for _, key := range keys {
		m, _ = m.Press(key)
	}
	return m
}

func opened() Model {
	m := pressed(scene(), "s", "s", "s", "enter")
	s := m.Snapshot
	s.Detail = &Detail{
		Queue: "orders", Members: []string{"pod-7-x host-1"}, Ready: 1, InHour: 600, InDay: 1200,
		Dead: []string{"06h0a2  order-42  2030-01-31T02:00:00Z  answer 503\x1b[31m"},
	}
	return m.Show(s)
}

func TestView_GoldenFrames(t *testing.T) {
	t.Parallel()
	failing := scene().Show(Snapshot{Err: "dial tcp: connection refused"})
	small := scene()
	small.Width, small.Height = 40, 6
	for name, m := range map[string]Model{
		"empty": {Width: 80, Height: 10}, "queues": scene(), "by-dead-and-selected": pressed(scene(), "s", "s", "s", "down"),
		"open": opened(), "reading": pressed(scene(), "enter"), "paused": pressed(scene(), "p"), "unavailable": failing, "small": pressed(small, "down", "down"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := m.View() + "\n"
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("frame is\n%s\nwant\n%s", got, want)
			}
			lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			if len(lines) > m.Height {
				t.Errorf("%d lines on a screen of %d", len(lines), m.Height)
			}
			for _, line := range lines {
				if utf8.RuneCountInString(line) > m.Width || strings.ContainsRune(line, 0x1b) {
					t.Errorf("line %q on a screen of %d columns", line, m.Width)
				}
			}
		})
	}
}

func TestPress_Keys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		from Model
		key  string
		want Action
		hold func(Model) bool
	}{
		{"q ends", scene(), "q", Quit, func(Model) bool { return true }},
		{"ctrl+c ends", scene(), "ctrl+c", Quit, func(Model) bool { return true }},
		{"enter opens the selected queue", scene(), "enter", Refresh, func(m Model) bool { return m.Open == "bad\x1b[2Jname" }},
		{"enter without queues does nothing", Model{}, "enter", Nothing, func(m Model) bool { return m.Open == "" }},
		{"esc goes back", opened(), "esc", Nothing, func(m Model) bool { return m.Open == "" && m.Snapshot.Detail == nil }},
		{"p pauses", scene(), "p", Nothing, func(m Model) bool { return m.Paused && m.Show(Snapshot{}).Snapshot.Queues != nil }},
		{"p again goes on", pressed(scene(), "p"), "p", Refresh, func(m Model) bool { return !m.Paused }},
		{"r reads", scene(), "r", Refresh, func(Model) bool { return true }},
		{"s sorts by the next order", scene(), "s", Nothing, func(m Model) bool { return m.sorted()[0].Name == "mails" }},
		{"s comes round", pressed(scene(), "s", "s", "s", "s"), "s", Nothing, func(m Model) bool { return m.sort == 0 }},
		{"down stops at the end", pressed(scene(), "down", "down", "down"), "down", Nothing, func(m Model) bool { return m.index() == 2 }},
		{"up stops at the top", pressed(scene(), "down"), "up", Nothing, func(m Model) bool { return m.index() == 0 }},
		{"others do nothing", scene(), "x", Nothing, func(m Model) bool { return m.Open == "" && !m.Paused }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, action := test.from.Press(test.key)
			if action != test.want || !test.hold(m) {
				t.Errorf("action %d, want %d; %+v", action, test.want, m)
			}
		})
	}
}

// A queue stays selected when others come or the order changes.
func TestShow_SelectionFollowsTheQueue(t *testing.T) {
	t.Parallel()
	m := pressed(scene(), "down", "down")
	before := m.sorted()[m.index()].Name
	s := m.Snapshot
	s.Queues = append(s.Queues, Queue{Name: "aaa"})
	m = pressed(m.Show(s), "s", "s")
	if got := m.sorted()[m.index()].Name; got != before {
		t.Errorf("selected %q, want %q", got, before)
	}
}
