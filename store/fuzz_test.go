package store

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"", idOf(0).String(), idOf(1023, 255).String(), idOf(1024).String(), "0123456789abcdefghjkmnpqrs", strings.Repeat("z", 26)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		var text ID
		if matches := text.UnmarshalText([]byte(s)) == nil; matches != idGrammar.MatchString(s) || matches && text.String() != s {
			t.Fatalf("UnmarshalText(%q) = %v", s, text)
		}
		valid := idGrammar.MatchString(s) && id.Partition() < MaxPartitions
		if err == nil {
			if !valid || id.String() != s {
				t.Fatalf("ParseID(%q) = %v", s, id)
			}
			return
		}
		wantInvalid(t, err, ErrInvalid, "id")
		wantTame(t, err)
		if idGrammar.MatchString(s) && !strings.Contains(err.Error(), "partition") {
			t.Fatalf("ParseID(%q): %v", s, err)
		}
	})
}

func FuzzParseReceipt(f *testing.F) {
	id := idOf(5, 1, 2, 3).String()
	for _, s := range []string{"", id, id + ":1", id + ":1k", id + ":0", id + ":007", id + ":9223372036854775807", id + ":9223372036854775808k", ":"} {
		f.Add(s)
	}
	grammar := regexp.MustCompile(`^[^:]{26}:[1-9][0-9]*k?$`)
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseReceipt(s)
		if err != nil {
			wantInvalid(t, err, ErrInvalid, "receipt")
			wantTame(t, err)
			return
		}
		if r.String() != s || !grammar.MatchString(s) || r.Attempt < 1 {
			t.Fatalf("ParseReceipt(%q) = %+v", s, r)
		}
	})
}

// FuzzValidateQueue holds that exactly the documented names are accepted.
func FuzzValidateQueue(f *testing.F) {
	for _, s := range []string{"", "a", "A.b_c-9", ".a", "-", "_x", "a{b}", "a:b", "a*", "a\n", "é", strings.Repeat("a", 128), strings.Repeat("a", 129), "a/../b", "\u202ea"} {
		f.Add(s)
	}
	grammar := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		err := ValidateQueue(s)
		if (err == nil) != grammar.MatchString(s) {
			t.Fatalf("ValidateQueue(%q) = %v", s, err)
		}
		if err != nil {
			wantInvalid(t, err, ErrInvalid, "queue")
			wantTame(t, err)
		}
	})
}

// FuzzValidateKey holds that a valid key is safe to print and to store.
func FuzzValidateKey(f *testing.F) {
	for _, s := range []string{"", "order-42", "Größe 日本", "a\x00", "\xff", "\u202e", strings.Repeat("k", 256)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		err := ValidateKey(s)
		if err != nil {
			wantInvalid(t, err, ErrInvalid, "key")
			wantTame(t, err)
			return
		}
		if s == "" || len(s) > MaxKey || !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\r\n\x7f") {
			t.Fatalf("ValidateKey(%q) = nil", s)
		}
	})
}

// wantTame fails unless an error is short and safe to print whatever the input was.
func wantTame(t *testing.T, err error) {
	t.Helper()
	const most = 600 // 64 bytes quoted, as \U00012345 at the longest, and the words around them
	text := err.Error()
	if len(text) > most || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Fatalf("error of %d characters: %q", len(text), text)
	}
}
