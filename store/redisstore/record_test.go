package redisstore

import (
	"errors"
	"maps"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte("garbage"))
	f.Add(encodeRecord(&store.Message{Key: "k", MaxAttempts: 3, Headers: map[string]string{"a": "b", "c": ""}, Body: []byte("x")}))
	f.Add([]byte{1, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 1, 200, 'x'})
	f.Add(encodeRecord(&store.Message{Key: "k", MaxAttempts: 3, Repeat: "every 1h", Headers: map[string]string{"a": "b"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(string(b))
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("%v is not ErrCorrupt", err)
			}
			return
		}
		m := store.Message{Key: r.key, Headers: r.headers, Body: []byte(r.body), MaxAttempts: r.maxAttempts, Repeat: r.repeat}
		again, err := decodeRecord(string(encodeRecord(&m)))
		if err != nil || again.repeat != r.repeat || again.key != r.key || again.body != r.body || !maps.Equal(again.headers, r.headers) {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
	})
}

func FuzzRecordRoundTrip(f *testing.F) {
	f.Add("key", "every 1h", "name", "value", []byte("body"), uint16(20))
	f.Add("", "", "", "", []byte{}, uint16(1))
	f.Fuzz(func(t *testing.T, key, repeat, name, value string, body []byte, attempts uint16) {
		if len(key) > store.MaxKey || len(name)+len(value) > store.MaxHeaderSize || len(repeat) > store.MaxRepeat || attempts > store.MaxAttempts {
			t.Skip("more than a valid message has")
		}
		if repeat != "" && key == "" {
			t.Skip("a message with a schedule has a key")
		}
		m := store.Message{Key: key, Repeat: repeat, Headers: map[string]string{name: value}, Body: body, MaxAttempts: int(attempts)}
		r, err := decodeRecord(string(encodeRecord(&m)))
		if err != nil || r.key != key || r.repeat != repeat || r.headers[name] != value || len(r.headers) != 1 ||
			r.body != string(body) || r.maxAttempts != int(attempts) || r.expiry != 0 {
			t.Fatalf("%+v became %+v, %v", m, r, err)
		}
	})
}

func FuzzReadAnswer(f *testing.F) {
	f.Add(int64(3), "1 1 00000000000000000000000000 3 4 -")
	f.Add(int64(-1), "")
	f.Fuzz(func(t *testing.T, done int64, text string) {
		results := make([]store.PushResult, 3)
		n, err := readAnswer([]any{done, text}, results)
		if err == nil && (n == 0 || n > 3 || n < staleCall) {
			t.Fatalf("done %d of 3", n)
		}
	})
}

func FuzzParseEvent(f *testing.F) {
	f.Add("wake 3")
	f.Add("stop 0 00000000000000000000000000")
	f.Fuzz(func(t *testing.T, payload string) {
		if e, ok := parseEvent(payload); ok && (e.Partition < 0 || e.Partition >= store.MaxPartitions) {
			t.Fatalf("partition %d", e.Partition)
		}
	})
}

func FuzzParseCursor(f *testing.F) {
	f.Add(place{false, "1700000000000", "id"}.cursor())
	f.Add(place{true, "1700000000000", "id"}.cursor())
	f.Add("MCA\r00000") // base64 skips line ends
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseCursor(s)
		if err == nil && p.cursor() != s {
			t.Fatalf("%q became %q", s, p.cursor())
		}
	})
}
