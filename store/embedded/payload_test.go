package embedded

import (
	"bytes"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

func FuzzPayload(f *testing.F) {
	f.Add("", "", "", "", "", "", []byte(nil))
	f.Add("order-42", "", "trace", "abc", "empty", "", []byte("body"))
	f.Add("order-42", "every 1h", "trace", "abc", "empty", "", []byte("body"))
	f.Add(strings.Repeat("k", store.MaxKey), strings.Repeat("r", store.MaxRepeat), "n", strings.Repeat("v", store.MaxHeaderSize-1), "", "", make([]byte, 300))
	f.Fuzz(func(t *testing.T, key, repeat, name1, value1, name2, value2 string, body []byte) {
		m := store.Message{ID: id(1), MaxAttempts: 1, Key: key, Repeat: repeat, Body: body}
		if name1 != "" || name2 != "" {
			m.Headers = map[string]string{name1: value1, name2: value2}
		}
		if m.Validate() != nil {
			t.Skip("not a message")
		}
		p := newPayload(&m)
		if p.key() != key || !maps.Equal(p.headers(), m.Headers) || !bytes.Equal(p.body(math.MaxInt), body) || p.bodySize() != len(body) {
			t.Errorf("got %q %v %q, want %q %v %q", p.key(), p.headers(), p.body(math.MaxInt), key, m.Headers, body)
		}
		if p.repeat() != repeat {
			t.Errorf("schedule %q, want %q", p.repeat(), repeat)
		}
		m.Repeat = ""
		if p.withoutRepeat() != newPayload(&m) {
			t.Errorf("without its schedule: %q, want %q", p.withoutRepeat(), newPayload(&m))
		}
	})
}

func TestStore_NothingIsSharedWithCallers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := message(1)
	m.Headers = map[string]string{"a": "1"}
	spoil := func(body []byte, headers map[string]string) {
		body[0] = 'X'
		headers["a"] = "X"
		headers["b"] = "X"
	}
	intact := func(when string, body []byte, headers map[string]string) {
		t.Helper()
		if string(body) != "body" || len(headers) != 1 || headers["a"] != "1" {
			t.Errorf("%s: got %q %v", when, body, headers)
		}
		spoil(body, headers)
	}
	r.push(m)
	spoil(m.Body, m.Headers)
	intact("get after push", r.record(1).Body, r.record(1).Headers)
	record := r.record(1)
	intact("get", record.Body, record.Headers)
	page, err := r.List(t.Context(), r.p, store.ListRequest{State: store.Ready, Limit: 1, BodyLimit: 10})
	r.must(err)
	intact("list", page.Records[0].Body, page.Records[0].Headers)
	d := r.claimN(1).Deliveries[0]
	intact("claim", d.Body, d.Headers)
	r.number--
	d = r.claimN(1).Deliveries[0]
	intact("repeated claim", d.Body, d.Headers)
}

func TestList_BodiesAreCut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(message(1))
	for limit, want := range []string{"", "b", "bo", "bod", "body", "body"} {
		page, err := r.List(t.Context(), r.p, store.ListRequest{State: store.Ready, Limit: 1, BodyLimit: limit})
		r.must(err)
		if got := page.Records[0]; string(got.Body) != want || got.BodySize != 4 {
			t.Errorf("limit %d: got %q of %d bytes", limit, got.Body, got.BodySize)
		}
	}
}
