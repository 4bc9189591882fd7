package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadme_TableIsWrittenBetweenItsMarks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	readme := filepath.Join(dir, "README.md")
	if err := os.WriteFile(readme, []byte("before\n"+shortBegin+"\nold\n"+shortEnd+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := sampled()
	r.Date = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var first string
	for range 2 { // the second time replaces the first
		if err := Write(r, filepath.Join(dir, "docs", "C.md"), filepath.Join(dir, "docs", "images"), readme); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(readme)
		if err != nil {
			t.Fatal(err)
		}
		if first != "" && first != string(b) {
			t.Error("the second writing changed the file")
		}
		first = string(b)
	}
	if !strings.HasPrefix(first, "before\n"+shortBegin) || !strings.HasSuffix(first, shortEnd+"\nafter\n") || strings.Contains(first, "old") {
		t.Errorf("what is around the marks has changed:\n%s", first)
	}
	for _, want := range []string{"| **dueq <queue>** | 0 |", "2026-01-02", "(docs/C.md)", "(docs/images/peers-short.svg)"} {
		if !strings.Contains(first, want) {
			t.Errorf("the table lacks %q:\n%s", want, first)
		}
	}
	if strings.Contains(first, "broken") {
		t.Error("the short table shows all queues")
	}
}

func TestReadme_WithoutMarksIsNotChanged(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", shortBegin, shortEnd, shortEnd + shortBegin} {
		if _, err := insert(text, "table"); err == nil {
			t.Errorf("%q was written to", text)
		}
	}
}

// The width of a plot is fixed, so longer notes are cut off.
func TestPlot_NotesFit(t *testing.T) {
	t.Parallel()
	const most = 130
	for name, svg := range plots(sampled()) {
		for line := range strings.Lines(svg) {
			if _, text, ok := strings.Cut(line, `class="note" text-anchor="start">`); ok {
				if n := len(strings.TrimSuffix(strings.TrimSpace(text), "</text>")); n > most {
					t.Errorf("%s: a note of %d characters: %s", name, n, text)
				}
			}
		}
	}
}
