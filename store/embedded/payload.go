package embedded

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/dueq-dev/dueq/store"
)

// payload is key, headers and body of a message in one string, a copy of what the producer
// passed. Two payloads are equal when their contents are.
//
// It is the length of the key (1 byte), that of the headers (2), the key, the
// headers, the body. Headers are sorted by name; each name and value is its length
// (2 bytes) and its text. The schedule of a message, if it has one, is in front of them as a
// header without a name, which no other header is. Numbers are big-endian.
type payload string

const payloadStart = 3

func newPayload(m *store.Message) payload {
	headers := packHeaders(m.Repeat, m.Headers)
	var b strings.Builder
	b.Grow(payloadStart + len(m.Key) + len(headers) + len(m.Body))
	b.WriteByte(byte(len(m.Key)))                                     // at most MaxKey
	b.Write(binary.BigEndian.AppendUint16(nil, uint16(len(headers)))) // at most MaxHeaderSize and MaxRepeat, and 4 bytes each
	b.WriteString(m.Key)
	b.Write(headers)
	b.Write(m.Body)
	return payload(b.String())
}

func packHeaders(repeat string, headers map[string]string) []byte {
	var packed []byte
	if repeat != "" {
		packed = appendText(appendText(nil, ""), repeat)
	}
	if len(headers) == 0 {
		return packed // without the iterator, which allocates
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		packed = appendText(packed, name)
		packed = appendText(packed, headers[name])
	}
	return packed
}

func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(s))) // at most MaxHeaderSize
	return append(b, s...)
}

// cutText splits what appendText wrote off b.
func cutText(b string) (text, rest string) {
	n := int(b[0])<<8 | int(b[1])
	return b[2 : 2+n], b[2+n:]
}

func (p payload) headersAt() int { return payloadStart + int(p[0]) }

func (p payload) bodyAt() int { return p.headersAt() + int(p[1])<<8 + int(p[2]) }

// keyOnly returns a payload with the same key and nothing else, which keeps nothing
// of p in memory.
func (p payload) keyOnly() payload {
	if p[0] == 0 {
		return "\x00\x00\x00"
	}
	return payload(string(p[:1]) + "\x00\x00" + p.key())
}

// wellFormed reports whether b can be used as a payload. It does not copy the body.
func wellFormed(b []byte) bool {
	if len(b) < payloadStart {
		return false
	}
	p := payload(b[:payloadStart])
	if p.bodyAt() > len(b) {
		return false
	}
	texts := 0
	for packed := string(b[p.headersAt():p.bodyAt()]); packed != ""; texts++ {
		if len(packed) < 2 || 2+int(packed[0])<<8+int(packed[1]) > len(packed) {
			return false
		}
		_, packed = cutText(packed)
	}
	return texts%2 == 0
}

// withBody returns a payload with the same key and headers and another body.
func (p payload) withBody(body []byte) payload {
	return p[:p.bodyAt()] + payload(body)
}

// key returns the key without copying it: it keeps all of p in memory.
func (p payload) key() string { return string(p[payloadStart:p.headersAt()]) }

// headers returns a copy that keeps nothing of p, nil when there are none.
func (p payload) headers() map[string]string {
	packed := strings.Clone(string(p[p.headersAt()+p.repeatSize() : p.bodyAt()]))
	if packed == "" {
		return nil
	}
	headers := make(map[string]string)
	for packed != "" {
		var name, value string
		name, packed = cutText(packed)
		value, packed = cutText(packed)
		headers[name] = value
	}
	return headers
}

// repeatSize returns how many of the bytes of the headers are the schedule.
func (p payload) repeatSize() int {
	from := p.headersAt()
	if p.bodyAt() == from || p[from] != 0 || p[from+1] != 0 {
		return 0
	}
	return 4 + int(p[from+2])<<8 + int(p[from+3])
}

// repeat returns a copy of the schedule, "" when there is none.
func (p payload) repeat() string {
	n := p.repeatSize()
	if n == 0 {
		return ""
	}
	return strings.Clone(string(p[p.headersAt()+4 : p.headersAt()+n]))
}

// withoutRepeat returns a payload with the same key, headers and body, and no schedule.
func (p payload) withoutRepeat() payload {
	n := p.repeatSize()
	if n == 0 {
		return p
	}
	from, to := p.headersAt(), p.bodyAt()
	size := binary.BigEndian.AppendUint16(nil, uint16(to-from-n)) // less than before
	return p[:1] + payload(size) + p[payloadStart:from] + p[from+n:]
}

// body returns a copy of at most limit bytes, nil when there are none.
func (p payload) body(limit int) []byte {
	body := p[p.bodyAt():]
	if n := min(limit, len(body)); n > 0 {
		return []byte(body[:n])
	}
	return nil
}

func (p payload) bodySize() int { return len(p) - p.bodyAt() }

// cloneKey returns the key without keeping the rest in memory.
func cloneKey(p payload) string { return strings.Clone(p.key()) }
