package dueqhttp

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
)

func TestDecode_RefusesWhatWouldBeChangedOrDropped(t *testing.T) {
	t.Parallel()
	deep := func(n int) string {
		return `{"body_json":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	for text, want := range map[string]string{
		`{"key":"k"} `:                              "",
		"\n{\"key\":\"k\"}\r\n":                     "",
		`{"key":"\ud83d\ude00 \\ud83d"}`:            "",
		`{"headers":{"Key":"a","key":"b"}}`:         "",
		`{"headers":{"Key":"a","\u004bey":"b"}}`:    "Key: is given twice",
		`{"body_json":{"A":{"A":1,"a":[{"A":1}]}}}`: "",
		`{"body_json":{"a":1,"a":2}}`:               "a: is given twice",
		`{"key":"k","key":"k"}`:                     "key: is given twice",
		`{"Key":"k"}`:                               "Key: is not known",
		`{"\u006bey":"k"}`:                          "",
		`{"\u006bey":"k","key":"l"}`:                "key: is given twice",
		`{"kéy":"k"}`:                               "kéy: is not known",
		`{"nope":"k"}`:                              "nope: is not known",
		`{"key":"\ud83d"}`:                          "surrogate",
		`{"key":"\ude00"}`:                          "surrogate",
		`{"key":"\ud83d\ud83d"}`:                    "surrogate",
		`{"key":"\ud83dx"}`:                         "surrogate",
		`{"key":"\ud83d\n"}`:                        "surrogate",
		"{\"key\":\"\xc3\"}":                        "UTF-8",
		`{"key":"k"}{}`:                             "not JSON",
		`{"key":"k"`:                                "not JSON",
		`{"key":'k'}`:                               "not JSON",
		` `:                                         "not JSON",
		`[]`:                                        "not a JSON object",
		`null`:                                      "not a JSON object",
		`{"key":7}`:                                 "want a string, found number",
		`{"headers":[]}`:                            "want an object, found array",
		`{"replace":"true"}`:                        "want true or false, found string",
		deep(31):                                    "",
		deep(32):                                    "nested more than 32 deep",
		deep(100_000):                               "n", // whichever limit is met first
	} {
		var m message
		err := decode([]byte(text), &m)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
		if err != nil && !errors.Is(err, dueq.ErrInvalid) {
			t.Errorf("%.60s: %v is not ErrInvalid", text, err)
		}
	}
}

func TestDecode_ManyNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100_000 {
		b.WriteString(`,"` + strings.Repeat("n", 1+i%7) + string(rune('0'+i%10)) + strings.Repeat("m", i/70) + `":1`)
		if i == 600 {
			break
		}
	}
	names := strings.TrimPrefix(b.String(), ",")
	if err := decode([]byte(`{"body_json":{`+names+`}}`), &message{}); err != nil {
		t.Errorf("an object with many names: %v", err)
	}
	if err := decode([]byte(`{"body_json":{`+names+`,"n0":1}}`), &message{}); err == nil || !strings.Contains(err.Error(), "n0: is given twice") {
		t.Errorf("a name that is there twice among many: %v", err)
	}
	if err := decode([]byte(`{`+strings.ReplaceAll(names, "1", "null")+`}`), &message{}); err == nil {
		t.Error("unknown names are accepted")
	}
}

// What is accepted means the same to a decoder that knows nothing of this package.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"key":"k","delay":"1h","headers":{"a":"b"},"body_json":{"x":[1,{"y":null}]}}`, `{"body":"\ud83d\ude00"}`, `{"body_base64":"AA=="}`,
		`{"a":1,"a":2}`, `{"KEY":"k"}`, `{"key":"\ud83d"}`, `[[[[`, "{\"key\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m message
		if err := decode(data, &m); err != nil {
			if !errors.Is(err, dueq.ErrInvalid) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		var loose map[string]json.RawMessage
		if err := json.Unmarshal(data, &loose); err != nil {
			t.Fatalf("%q is accepted: %v", data, err)
		}
		fields := fieldsOfMessage()
		for name := range loose {
			if !slices.Contains(fields, name) {
				t.Fatalf("%q is accepted with the name %q", data, name)
			}
		}
		var key *string
		if err := json.Unmarshal(loose["key"], &key); len(loose["key"]) > 0 && (err != nil || key != nil && *key != m.Key) {
			t.Fatalf("%q: the key is %q", data, m.Key)
		}
		if _, err := m.plain(); err != nil && !errors.Is(err, dueq.ErrInvalid) {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

func fieldsOfMessage() []string {
	var d struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	_ = json.Unmarshal(description, &d)
	return slices.Collect(maps.Keys(d.Components.Schemas["Message"].Properties))
}
