package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/jsonl"
)

func TestImport_BadLinesAreReportedAndSkipped(t *testing.T) {
	t.Parallel()
	got := inMemory(t).run("import", "--queue", "q", "-o", "json", filepath.Join("testdata", "bad.jsonl"))
	if got.code != exitFailure {
		t.Errorf("exit %d, want %d", got.code, exitFailure)
	}
	if want := `{"queue":"q","lines":11,"stored":2,"duplicate_key":1,"refused":0,"bad":8,"failed":0}` + "\n"; got.out != want {
		t.Errorf("stdout is %s, want %s", got.out, want)
	}
	lines := strings.Split(strings.TrimSpace(got.err), "\n")
	want := []string{
		`dueq: line 2: "dely": unknown field`,
		`dueq: line 5: delay: "-1s": is negative`,
		`dueq: line 6: due: is given together with a delay`,
		`dueq: line 7: has something behind the JSON object`,
		`dueq: line 10: due: "tomorrow": want a time in RFC 3339`,
		`dueq: line 11: is not JSON: ends in the middle`,
		`dueq: line 12: key: want a string, found a number`,
		`dueq: line 8: send queue "q": delay: 4000d, the limit is 3660d (10 years)`,
		`dueq: import: 8 of 11 lines are bad`,
	}
	if len(lines) != len(want) {
		t.Fatalf("stderr has %d lines, want %d: %s", len(lines), len(want), got.err)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("line %d of stderr is %s, want it to begin with %s", i, lines[i], want[i])
		}
	}
}

func TestImport_StandardInputWithTextOutput(t *testing.T) {
	t.Parallel()
	got := inMemory(t).feed(`{"key":"a","body":1}`+"\n"+`{"key":"a","body":2}`, "import", "--queue", "q", "-")
	if want := "2 lines: 1 stored, 1 duplicate key, 0 refused, 0 bad\n"; got.code != exitOK || got.out != want || got.err != "" {
		t.Errorf("exit %d, stdout %q, stderr %q, want %q and no error", got.code, got.out, got.err, want)
	}
}

func TestImport_RecurringMessages(t *testing.T) {
	t.Parallel()
	r, client := onRedis(t)
	const in = `{"key":"daily","repeat":"cron 0 9 * * * Europe/Berlin","body":1}` + "\n" + `{"repeat":"every 10m","body":2}`
	got := r.feed(in, "import", "--queue", "q", "-")
	if want := "2 lines: 1 stored, 0 duplicate key, 0 refused, 1 bad\n"; got.code != exitFailure || got.out != want || !strings.Contains(got.err, "line 2: ") {
		t.Errorf("exit %d, stdout %q, stderr %q, want %q and line 2, which has no key", got.code, got.out, got.err, want)
	}
	stored, err := client.Queue("q").Get(t.Context(), dueq.Key("daily"))
	if want := (dueq.Repeat{Cron: "0 9 * * *", Zone: "Europe/Berlin"}); err != nil || stored.Repeat != want {
		t.Errorf("the message repeats %q (%v), want %q", stored.Repeat, err, want)
	}
}

func TestImport_EmptyInput(t *testing.T) {
	t.Parallel()
	if got := inMemory(t).feed("\n\n", "import", "--queue", "q", "-"); got.code != exitOK || got.err != "" {
		t.Errorf("exit %d, stderr %q, want success", got.code, got.err)
	}
}

func TestImport_RefusedMessagesAreCounted(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	t.Cleanup(func() { _ = client.Close() })
	q, most := client.Queue("q"), int64(2)
	if err := q.Create(t.Context(), dueq.Settings{MaxMessages: most}); err != nil {
		t.Fatal(err)
	}
	i := newTestImporter(q, `{"body":1}`+"\n"+`{"body":2}`+"\n"+`{"body":3}`, 0)
	if err := i.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if i.result.Stored != 2 || i.result.Refused != 1 || exitCode(i.result.err()) != exitRefused {
		t.Errorf("%+v, exit code %d, want 2 stored, 1 refused, exit code %d", i.result, exitCode(i.result.err()), exitRefused)
	}
}

func TestImport_EndsWhenTheStoreIsUnreachable(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	i := newTestImporter(client.Queue("q"), `{"body":1}`, 0)
	if err := i.run(t.Context()); !errors.Is(err, dueq.ErrClosed) || i.result.Failed != 1 || i.result.Stored != 0 {
		t.Errorf("error %v, %+v, want it closed and 1 failed", err, i.result)
	}
}

func newTestImporter(q *dueq.Queue, input string, speed float64) *importer {
	return &importer{
		queue: q, in: jsonl.NewReader(strings.NewReader(input)), clock: replay{speed: speed, start: time.Now()},
		bad: func(error) {}, show: func(*importResult, int64, bool) {},
	}
}

func TestImport_SpeedDividesIntervals(t *testing.T) {
	t.Parallel()
	at := func(s string) jsonl.Message {
		due, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return jsonl.Message{Due: due}
	}
	r := replay{speed: 3600, start: time.Now().Add(-time.Second)}
	first := at("2001-01-01T10:00:00Z")
	r.see(jsonl.Message{Delay: time.Hour})
	r.see(first)
	r.see(at("2001-01-01T09:00:00Z"))
	for _, test := range []struct {
		name   string
		m      jsonl.Message
		lo, hi time.Duration
	}{
		{"the first is due now", first, 0, 0},
		{"one hour later", at("2001-01-01T11:00:00Z"), 0, 0}, // a second, which has passed since the start
		{"ten hours later", at("2001-01-01T20:00:00Z"), 8 * time.Second, 9 * time.Second},
		{"before the first", at("2001-01-01T09:00:00Z"), 0, 0},
		{"a delay", jsonl.Message{Delay: 2 * time.Hour}, 2 * time.Second, 2 * time.Second},
		{"no time at all", jsonl.Message{}, 0, 0},
	} {
		due, delay := r.schedule(test.m)
		if !due.IsZero() || delay < test.lo || delay > test.hi {
			t.Errorf("%s: due %v, delay %v, want %v to %v", test.name, due, delay, test.lo, test.hi)
		}
	}
	if d := (&replay{speed: 1e-300}).compress(time.Hour); d != 1<<63-1 {
		t.Errorf("an endless delay became %v", d)
	}
}

func TestImport_WithoutSpeedTimesAreKept(t *testing.T) {
	t.Parallel()
	want := time.Date(2001, 1, 1, 0, 47, 0, 0, time.UTC)
	if due, delay := (&replay{}).schedule(jsonl.Message{Due: want}); !due.Equal(want) || delay != 0 {
		t.Errorf("due %v, delay %v, want %v", due, delay, want)
	}
}

func TestImport_Progress(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	show := drawProgress(&b, "q", 200)
	show(&importResult{Lines: 5}, 50, false)
	if !strings.Contains(b.String(), "[#####---------------]  25 %  import to q: 5 lines") {
		t.Errorf("progress is %q", b.String())
	}
	show(&importResult{Lines: 6}, 60, false) // too early to be drawn
	if strings.Contains(b.String(), "6 lines") {
		t.Errorf("progress was drawn again at once: %q", b.String())
	}
	show(&importResult{}, 200, true)
	if !strings.HasSuffix(b.String(), "\x1b[1A\r\x1b[J") {
		t.Errorf("progress was not taken off: %q", b.String())
	}
}

// TestImport_SendsWhatHasArrivedSoFar checks that lines from a pipe are sent before a batch is full.
func TestImport_SendsWhatHasArrivedSoFar(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	t.Cleanup(func() { _ = client.Close() })
	q := client.Queue("q")
	input, writer := io.Pipe()
	sent, done := make(chan int, 2), make(chan error, 1)
	i := newTestImporter(q, "", 0)
	i.in = jsonl.NewReader(input)
	i.show = func(r *importResult, _ int64, end bool) {
		if !end {
			sent <- r.Stored
		}
	}
	go func() { done <- i.run(t.Context()) }()
	for n := 1; n <= 2; n++ {
		if _, err := io.WriteString(writer, `{"body":1}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if stored := <-sent; stored != n {
			t.Errorf("after line %d %d messages are stored", n, stored)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
