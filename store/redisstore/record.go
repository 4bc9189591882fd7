package redisstore

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// A record is a message as it lies in the msg hash. Numbers are big endian.
//
//	0      1  format version, 1
//	1      2  max attempts; 0: the record was lost, this one stands for it. Bit 15 is set if it
//	          has a schedule, bit 14 if it is what became of an occurrence that failed (a letter)
//	3      6  expiry, unix ms; 0: none. A push has 0 here, the script sets it
//	9      1  length of the key
//	10     2  length of the headers
//	12     .  key; headers; body
//
// The scripts read the first 12 bytes and the key. The headers are for Go only: each
// name and value with its length before it as a uvarint, sorted by name, so that equal
// messages have equal records. The schedule of a message is in front of them as a header
// without a name, which no other header is. The key of a letter is the one that its message
// had; it does not hold it.
const (
	recordVersion = 1
	recordHead    = 12

	flagRepeats = 0x80 // in the first byte of max attempts
	flagLetter  = 0x40
	flags       = flagRepeats | flagLetter
)

// encodeRecord returns the record of a message that is valid.
func encodeRecord(m *store.Message) []byte {
	return append(appendHead(make([]byte, 0, recordSize(m)), m), m.Body...)
}

// recordSize is at least the length of a message's record.
func recordSize(m *store.Message) int {
	size := recordHead + len(m.Key) + len(m.Body)
	if m.Repeat != "" {
		size += 2*binary.MaxVarintLen16 + len(m.Repeat)
	}
	for name, value := range m.Headers {
		size += 2*binary.MaxVarintLen16 + len(name) + len(value)
	}
	return size
}

// appendHead appends a record up to its body.
func appendHead(b []byte, m *store.Message) []byte {
	start := len(b)
	b = append(b, recordVersion, byte(m.MaxAttempts>>8), byte(m.MaxAttempts), 0, 0, 0, 0, 0, 0, byte(len(m.Key)), 0, 0)
	b = append(b, m.Key...)
	headers := len(b)
	if m.Repeat != "" {
		b[start+1] |= flagRepeats
		b = appendText(appendText(b, ""), m.Repeat)
	}
	if len(m.Headers) > 0 {
		for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
			b = appendText(appendText(b, name), m.Headers[name])
		}
	}
	binary.BigEndian.PutUint16(b[start+10:], uint16(len(b)-headers))
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// record is what decodeRecord finds.
type record struct {
	key         string
	headers     map[string]string
	body        string
	repeat      string
	maxAttempts int
	expiry      int64
	letter      bool
}

// decodeRecord reads a record, whose body may have been cut short. It never panics; an
// error is of kind ErrCorrupt.
func decodeRecord(s string) (record, error) {
	if len(s) < recordHead {
		return record{}, fmt.Errorf("record of %d bytes: %w", len(s), store.ErrCorrupt)
	}
	if s[0] != recordVersion {
		return record{}, fmt.Errorf("record format %d, this version reads %d: %w", s[0], recordVersion, store.ErrCorrupt)
	}
	r := record{maxAttempts: int(s[1]&^flags)<<8 | int(s[2]), letter: s[1]&flagLetter != 0}
	for i := 3; i < 9; i++ {
		r.expiry = r.expiry<<8 | int64(s[i])
	}
	keyEnd := recordHead + int(s[9])
	bodyAt := keyEnd + int(s[10])<<8 + int(s[11])
	if bodyAt > len(s) {
		return record{}, fmt.Errorf("record of %d bytes, want at least %d: %w", len(s), bodyAt, store.ErrCorrupt)
	}
	r.key, r.body = s[recordHead:keyEnd], s[bodyAt:]
	headers := s[keyEnd:bodyAt]
	if s[1]&flagRepeats != 0 {
		name, rest, named := cutText(headers)
		repeat, rest, ok := cutText(rest)
		if !named || !ok || name != "" || repeat == "" || r.key == "" {
			return record{}, fmt.Errorf("schedule: %w", store.ErrCorrupt)
		}
		r.repeat, headers = repeat, rest
	}
	var err error
	r.headers, err = decodeHeaders(headers)
	return r, err
}

func decodeHeaders(s string) (map[string]string, error) {
	if s == "" {
		return nil, nil
	}
	headers := map[string]string{}
	for s != "" {
		var name, value string
		var ok bool
		if name, s, ok = cutText(s); !ok {
			return nil, fmt.Errorf("headers: %w", store.ErrCorrupt)
		}
		if value, s, ok = cutText(s); !ok {
			return nil, fmt.Errorf("headers: %w", store.ErrCorrupt)
		}
		headers[name] = value
	}
	return headers, nil
}

// cutText is the opposite of appendText.
func cutText(s string) (text, rest string, ok bool) {
	var n, shift uint64
	for i := 0; i < len(s) && i < binary.MaxVarintLen16; i++ {
		n |= uint64(s[i]&0x7f) << shift
		shift += 7
		if s[i] < 0x80 {
			s = s[i+1:]
			if n > uint64(len(s)) {
				return "", "", false
			}
			return s[:n], s[n:], true
		}
	}
	return "", "", false
}
