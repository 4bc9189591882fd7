package jsonl_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/jsonl"
)

func TestNext(t *testing.T) {
	t.Parallel()
	input := `{"key":"20010101T0047-DTW-LAS","due":"2001-01-01T00:47:00Z","body":{"distance_miles": 1750, "x": 1.50e2}}

{"delay":"1d30m","body":"text \u00e9","headers":{"trace":"abc"}}
{"key":"daily","repeat":"cron 0 9 * * 1-5 Europe/Berlin catch-up","body":null}
  {"body":null}` + "\r\n" + `{"body":""}`
	want := []jsonl.Message{
		{Line: 1, Key: "20010101T0047-DTW-LAS", Due: time.Date(2001, 1, 1, 0, 47, 0, 0, time.UTC), Body: []byte(`{"distance_miles":1750,"x":1.50e2}`)},
		{Line: 3, Delay: 24*time.Hour + 30*time.Minute, Body: []byte("text é"), Headers: map[string]string{"trace": "abc"}},
		{Line: 4, Key: "daily", Repeat: dueq.Repeat{Cron: "0 9 * * 1-5", Zone: "Europe/Berlin", CatchUp: true}, Body: []byte("null")},
		{Line: 5, Body: []byte("null")},
		{Line: 6, Body: []byte("")},
	}
	r := jsonl.NewReader(strings.NewReader(input))
	var got []jsonl.Message
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Bytes() != int64(len(input)) {
		t.Errorf("read %d bytes, want %d", r.Bytes(), len(input))
	}
}

func TestNext_BadLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, want string }{
		{`{"body":1,"dely":"3s"}`, `line 1: "dely": unknown field, want key, due, delay, body, headers, repeat`},
		{`{"body":1,"KEY":"k"}`, `line 1: "KEY": unknown field, want key, due, delay, body, headers, repeat`},
		{`{"body":1} {}`, `line 1: has something behind the JSON object`},
		{`{"body":1}]`, `line 1: has something behind the JSON object`},
		{`{"body":1,"due":"2001-01-01T00:47:00Z","delay":"1s"}`, `line 1: due: is given together with a delay, want one of them`},
		{`{"body":1,"delay":"-3s"}`, `line 1: delay: "-3s": is negative, want 0 or more`},
		{`{"body":1,"delay":"1h1"}`, `line 1: delay: "1h1": want a duration such as 30s, 1h30m, 2d or 1w`},
		{`{"body":1,"delay":30}`, `line 1: delay: want a string, found a number`},
		{`{"body":1,"due":978310020}`, `line 1: due: want a string, found a number`},
		{`{"body":1,"due":"tomorrow"}`, `line 1: due: "tomorrow": want a time in RFC 3339 between the years 1970 and 9999, such as 2030-01-31T18:00:00Z`},
		{`{"body":1,"key":"k","repeat":"hourly"}`, `line 1: repeat: "hourly": want "every 10m" or "cron 0 9 * * 1-5 Europe/Berlin", and "catch-up" behind it if so: invalid argument`},
		{`{"body":1,"key":"k","repeat":""}`, `line 1: repeat: "": want "every 10m" or "cron 0 9 * * 1-5 Europe/Berlin", and "catch-up" behind it if so: invalid argument`},
		{`{"body":1,"key":"k","repeat":{"every":"10m"}}`, `line 1: repeat: want a string, found an object`},
		{`{"body":1,"key":null}`, `line 1: key: want a string, found null`},
		{`{"body":1,"key":""}`, `line 1: key: "": is empty`},
		{`{"body":1,"headers":["a"]}`, `line 1: headers: want an object of strings, found an array`},
		{`{"body":1,"headers":{"a":true}}`, `line 1: headers: "a": want a string, found a boolean`},
		{`{"body":1,"body":2}`, `line 1: body: is given twice`},
		{`{"key":"k"}`, `line 1: body: is missing`},
		{`[1]`, `line 1: want a JSON object, found an array`},
		{`17`, `line 1: want a JSON object, found a number`},
		{`{"body":`, `line 1: is not JSON: ends in the middle of a value`},
		{`{"body":1`, `line 1: is not JSON: ends in the middle of a value`},
		{`{"body":NaN}`, `line 1: is not JSON: invalid character 'N' looking for beginning of value`},
		{"{\"body\":\"\xff\"}", `line 1: is not valid UTF-8`},
		{`{"body":1,"key":"` + strings.Repeat("x", jsonl.MaxLine) + `"}`, `line 1: is longer than the limit of 8388608 bytes`},
	} {
		r := jsonl.NewReader(strings.NewReader(test.line + "\n" + `{"body":"next"}`))
		_, err := r.Next()
		if bad := (*jsonl.LineError)(nil); !errors.As(err, &bad) || err.Error() != test.want {
			t.Errorf("%.60s: error is %v, want %s", test.line, err, test.want)
		}
		if m, err := r.Next(); err != nil || m.Line != 2 || string(m.Body) != "next" {
			t.Errorf("%.60s: the line behind it is %v, %v", test.line, m, err)
		}
	}
}

func TestNext_ReadErrorIsNotALineError(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk gone")
	r := jsonl.NewReader(io.MultiReader(strings.NewReader(`{"body":1}`+"\n"+`{"bo`), failing{broken}))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) || errors.As(err, new(*jsonl.LineError)) {
		t.Errorf("error is %v, want %v as it is", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzNext(f *testing.F) {
	for _, seed := range []string{`{"body":1}`, `{"key":"k","repeat":"every 10m","body":1}`, `{"key":"k","delay":"1d","body":{"a":[1,2]},"headers":{"h":"v"}}`, "\n\n", `{"body":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		r := jsonl.NewReader(strings.NewReader(input))
		for last := 0; ; {
			m, err := r.Next()
			bad := (*jsonl.LineError)(nil)
			if errors.As(err, &bad) {
				m.Line = bad.Line
			} else if err != nil {
				return
			}
			if m.Line <= last || m.Delay < 0 || m.Key != "" && err != nil {
				t.Fatalf("line %d after %d: %+v, %v", m.Line, last, m, err)
			}
			last = m.Line
		}
	})
}
