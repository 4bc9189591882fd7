package dueq

import (
	"errors"
	"path"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dueq-dev/dueq/store"
)

func TestGlobPattern(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob string
		yes  []string
		no   []string
	}{
		{"order-42", []string{"order-42"}, []string{"order-4", "order-422", "Order-42", "a order-42"}},
		{"order-*", []string{"order-", "order-42", "order-a/b.c"}, []string{"order", "my order-1"}},
		{"*/due", []string{"a/b/due", "/due"}, []string{"due", "a/due/b"}},
		{"?", []string{"a", "ü", "日"}, []string{"", "ab"}},
		{"[a-c_]x", []string{"ax", "cx", "_x"}, []string{"dx", "x", "-x"}},
		{"[^a-c]", []string{"d", "日", "^"}, []string{"a", "b", ""}},
		{"[]a]", []string{"]", "a"}, []string{"b", "[]a]"}},
		{"[a-]", []string{"a", "-"}, []string{"b"}},
		{`[\]\-z]`, []string{"]", "-", "z"}, []string{`\`, "a"}},
		{`\*\?\[\\`, []string{`*?[\`}, []string{"a"}},
		{"a.b+(c)$", []string{"a.b+(c)$"}, []string{"axb+(c)$", "aab+(c)$"}},
		{"", []string{""}, []string{"a"}},
		{strings.Repeat("*a", 40), []string{strings.Repeat("a", 200)}, []string{strings.Repeat("a", 199) + "b"}},
	} {
		p, err := globPattern("key", test.glob)
		if err != nil {
			t.Errorf("%q: %v", test.glob, err)
			continue
		}
		for _, key := range test.yes {
			if !p.MatchString(key) {
				t.Errorf("%q does not match %q", test.glob, key)
			}
		}
		for _, key := range test.no {
			if p.MatchString(key) {
				t.Errorf("%q matches %q", test.glob, key)
			}
		}
	}
	for glob, want := range map[string]string{
		"[a": "a [ without its ]", "[": "a [ without its ]", "[^": "a [ without its ]", "[]": "a [ without its ]",
		`a\`: `ends with a \`, `[a\`: `ends with a \`, `[a-\`: `ends with a \`, "[z-a]": "z-a, which ends before it begins",
		"\xc3": "is not UTF-8",
	} {
		_, err := globPattern("key", glob)
		var e *Error
		if !errors.Is(err, ErrInvalid) || !errors.As(err, &e) || e.Field != "key" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want ErrInvalid with %q", glob, err, want)
		}
	}
}

// FuzzGlobPattern holds that patterns without '/' mean what those of path.Match mean. To path.Match, a range that ends
// before it begins has no characters; here it is refused as a mistake, whatever else its set has.
func FuzzGlobPattern(f *testing.F) {
	for _, seed := range [][2]string{{"a*", "abc"}, {"[a-z]?", "xy"}, {`\*`, "*"}, {"[^x]", "y"}, {"[", "["}, {"[a-", "a"}, {"[00- ]", "0"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, key string) {
		if strings.ContainsAny(glob+key, "/") || !utf8.ValidString(glob) || !utf8.ValidString(key) {
			return
		}
		want, bad := path.Match(glob, key)
		p, err := globPattern("key", glob)
		if err == nil && bad == nil && p.MatchString(key) != want {
			t.Errorf("%q matches %q: %t, path.Match says %t", glob, key, !want, want)
		}
		if err != nil && bad == nil && want && !strings.Contains(err.Error(), "which ends before it begins") {
			t.Errorf("%q is refused (%v), but path.Match matches %q", glob, err, key)
		}
	})
}

func TestFilter_RefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	now := time.Now()
	some := TimeRange{From: now}
	all := listedStates()
	for _, test := range []struct {
		name   string
		filter Filter
		states []State
		field  string
	}{
		{"unknown state", Filter{State: "gone"}, all, "state"},
		{"state of another call", Filter{State: Leased}, []State{Dead}, "state"},
		{"bad pattern", Filter{Key: "[a"}, all, "key"},
		{"empty range", Filter{Due: TimeRange{From: now, To: now}}, all, "due"},
		{"range that ends first", Filter{Sent: TimeRange{From: now, To: now.Add(-1)}}, all, "sent"},
		{"due time of the dead", Filter{State: Dead, Due: some}, all, "due"},
		{"death of the ready", Filter{State: Ready, Died: some}, all, "died"},
		{"due time and death", Filter{Due: some, Died: some}, all, "died"},
		{"negative attempts", Filter{MinAttempts: -1}, all, "min attempts"},
	} {
		_, err := test.filter.matcher(test.states...)
		var e *Error
		if !errors.Is(err, ErrInvalid) || !errors.As(err, &e) || e.Field != test.field {
			t.Errorf("%s: %v, want ErrInvalid for %q", test.name, err, test.field)
		}
	}
}

func TestFilter_Match(t *testing.T) {
	t.Parallel()
	id := store.ID{0, 0, 0, 0, 0x03, 0xe8} // made at 1 s
	r := &store.Record{
		ID: id, Key: "order-42", Headers: map[string]string{"a": "1", "b": ""}, State: store.Dead,
		At: 5000, Attempt: 3, LastFailure: "no route to host",
	}
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	for name, test := range map[string]struct {
		filter Filter
		want   bool
	}{
		"everything":              {Filter{}, true},
		"all of it":               {Filter{State: Dead, Key: "order-*", Headers: map[string]string{"a": "1"}, Failure: "route", MinAttempts: 3}, true},
		"another key":             {Filter{Key: "order-4"}, false},
		"header with other value": {Filter{Headers: map[string]string{"a": "2"}}, false},
		"empty header":            {Filter{Headers: map[string]string{"b": ""}}, true},
		"missing header":          {Filter{Headers: map[string]string{"c": ""}}, false},
		"another failure":         {Filter{Failure: "No route"}, false},
		"more attempts":           {Filter{MinAttempts: 4}, false},
		"sent at that instant":    {Filter{Sent: TimeRange{From: at(1000), To: at(1001)}}, true},
		"sent before":             {Filter{Sent: TimeRange{To: at(1000)}}, false},
		"sent after":              {Filter{Sent: TimeRange{From: at(1001)}}, false},
		"died at that instant":    {Filter{Died: TimeRange{From: at(5000), To: at(5001)}}, true},
		"died before":             {Filter{Died: TimeRange{To: at(5000)}}, false},
		"died after":              {Filter{Died: TimeRange{From: at(5000).Add(1)}}, false},
	} {
		m, err := test.filter.matcher(listedStates()...)
		if err != nil || m.match(r) != test.want {
			t.Errorf("%s: %t, %v, want %t", name, err == nil && m.match(r), err, test.want)
		}
	}
	m, _ := Filter{Key: "*"}.matcher(Ready)
	if m.match(&store.Record{State: store.Ready}) {
		t.Error("a message without a key matches *")
	}
}
