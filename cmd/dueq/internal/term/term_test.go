package term_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain {\"a\":1} \\ é 日本":   "plain {\"a\":1} \\ é 日本",
		"\x1b]52;c;cm0=\x07":        `\x1b]52;c;cm0=\x07`,
		"a\nb\rc\td\x00\x7f":        `a\nb\rc\td\x00\x7f`,
		"\xff\xc3(":                 `\xff\xc3(`,
		"\u009b31m\u202eevil\u2028": `\u009b31m\u202eevil\u2028`,
		"\U000e0041":                `\U000e0041`,
		"\ufffd":                    "\ufffd",
	} {
		if got := term.Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("\x1b]52;c;\x07")
	f.Fuzz(func(t *testing.T, text string) {
		if got := term.Escape(text); strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("Escape(%q) = %q, which is not printable", text, got)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add("\x1b]52;c;\x07 \u009b \u202e <&> \U000e0041")
	f.Fuzz(func(t *testing.T, text string) {
		line, err := term.JSON(map[string]string{"body": text})
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(strings.TrimSuffix(string(line), "\n"), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("JSON of %q = %q, which is not printable", text, line)
		}
		var back map[string]string
		if err := json.Unmarshal(line, &back); err != nil || back["body"] != strings.ToValidUTF8(text, "\ufffd") && !strings.Contains(back["body"], "\ufffd") {
			t.Errorf("JSON of %q reads back as %q, %v", text, back["body"], err)
		}
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abc…", "日本日本日": "日本日…"} {
		if got := term.Cut(text, 4); got != want {
			t.Errorf("Cut(%q, 4) = %q, want %q", text, got, want)
		}
	}
}

func TestTable_AlignsAndEscapes(t *testing.T) {
	t.Parallel()
	got := term.Table([]string{"ID", "BODY"}, [][]string{{"1", "a\tb"}, {"22222", ""}})
	if want := "ID     BODY\n1      a\\tb\n22222\n"; got != want {
		t.Errorf("table is %q, want %q", got, want)
	}
}

func TestLive_OverwritesItsLastOutput(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	live := term.Live{W: &b}
	for _, lines := range [][]string{{"one", "two"}, {"three"}} {
		if err := live.Draw(lines); err != nil {
			t.Fatal(err)
		}
	}
	if err := live.Clear(); err != nil {
		t.Fatal(err)
	}
	want := "one\x1b[K\ntwo\x1b[K\n\x1b[J" + "\x1b[2A\rthree\x1b[K\n\x1b[J" + "\x1b[1A\r\x1b[J"
	if b.String() != want {
		t.Errorf("drew %q, want %q", b.String(), want)
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	for done, want := range map[float64]string{-1: "[----]", 0: "[----]", 0.5: "[##--]", 1: "[####]", 2: "[####]"} {
		if got := term.Bar(done, 4); got != want {
			t.Errorf("Bar(%v) = %s, want %s", done, got, want)
		}
	}
}
