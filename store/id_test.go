package store

import (
	"bytes"
	"encoding/base32"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// idGrammar is the documented grammar of ids. 26 characters of 5 bits are 2 bits more than an id
// has, so the last character ends in two zero bits.
var idGrammar = regexp.MustCompile(`^[0-9a-hjkmnp-tv-z]{25}[048cgmrw]$`)

func idOf(partition uint16, first ...byte) ID {
	var id ID
	copy(id[:], first)
	id[14], id[15] = byte(partition>>8), byte(partition)
	return id
}

func TestID_Text(t *testing.T) {
	t.Parallel()
	for _, id := range []ID{{}, idOf(0, 1), idOf(1), idOf(MaxPartitions - 1), idOf(7, 0xff, 0xff, 0xff, 0xff), ID(uuid.Nil)} {
		text := id.String()
		if !idGrammar.MatchString(text) {
			t.Errorf("%x as text is %q", id[:], text)
		}
		back, err := ParseID(text)
		if err != nil || back != id {
			t.Errorf("ParseID(%q) = %x, %v; want %x", text, back[:], err, id[:])
		}
	}
}

// The text of ids is stored data, so it must stay that of the general encoder.
func TestID_TextIsBase32(t *testing.T) {
	t.Parallel()
	crockford := base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
	var id ID
	for i := range 1000 {
		for j := range id {
			id[j] = byte((i + 1) * (j + 3) * 37 >> (i % 5))
		}
		if got, want := id.String(), crockford.EncodeToString(id[:]); got != want {
			t.Fatalf("%x as text is %q, want %q", id[:], got, want)
		}
	}
	for bit := range 8 * len(id) {
		id = ID{}
		id[bit/8] = 0x80 >> (bit % 8)
		if got, want := id.String(), crockford.EncodeToString(id[:]); got != want {
			t.Fatalf("%x as text is %q, want %q", id[:], got, want)
		}
	}
}

func TestID_TextSortsLikeIDs(t *testing.T) {
	t.Parallel()
	var ids []ID
	for i := range 300 {
		ids = append(ids, idOf(uint16(i%3), byte(i*7), byte(i*31), byte(i)))
	}
	slices.SortFunc(ids, func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
	if !slices.IsSortedFunc(ids, func(a, b ID) int { return strings.Compare(a.String(), b.String()) }) {
		t.Error("the order of the texts is not that of the ids")
	}
}

func TestID_HasPartitionAndTime(t *testing.T) {
	t.Parallel()
	id := ID{0x01, 0x9a, 0x12, 0x34, 0x56, 0x78, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0x03, 0xff}
	if id.Partition() != 1023 {
		t.Errorf("partition %d, want 1023", id.Partition())
	}
	if id.Time() != 0x019a12345678 {
		t.Errorf("time %#x, want 0x19a12345678", id.Time())
	}
	if id.IsZero() || !(ID{}).IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestParseID_InvalidTextIsRefused(t *testing.T) {
	t.Parallel()
	good := idOf(0, 1, 2, 3).String()
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", `id: "" has 0 characters, want 26: invalid argument`},
		{"short", good[1:], `has 25 characters, want 26`},
		{"long", good + "0", `has 27 characters, want 26`},
		{"very long", strings.Repeat("a", 5000), "has 5000 characters, want 26"},
		{"upper case", strings.ToUpper(idOf(0, 0xff, 0xff).String()), `want 26 characters of 0-9 a-z without i, l, o, u`},
		{"letter l", "l" + good[1:], `is not an id`},
		{"letter o", "o" + good[1:], `is not an id`},
		{"trailing bits", good[:25] + "1", `is not an id`},
		{"line break inside", good[:10] + "\n" + good[11:], `\n`},
		{"not ASCII", good[:24] + "é", `is not an id`},
		{"partition 1024", idOf(1024).String(), `names partition 1024, the highest is 1023`},
		{"partition 65535", idOf(65535).String(), `names partition 65535`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id, err := ParseID(c.text)
			wantInvalid(t, err, ErrInvalid, "id", c.want)
			if !id.IsZero() {
				t.Errorf("a refused id is not zero: %v", id)
			}
			if len(err.Error()) > 300 {
				t.Errorf("the error is %d characters long", len(err.Error()))
			}
		})
	}
}

func TestReceipt_Text(t *testing.T) {
	t.Parallel()
	id := idOf(3, 1)
	for _, r := range []Receipt{{ID: id, Attempt: 1}, {ID: id, Attempt: 20, Keyed: true}, {ID: id, Attempt: 1 << 40}} {
		back, err := ParseReceipt(r.String())
		if err != nil || back != r {
			t.Errorf("ParseReceipt(%q) = %+v, %v; want %+v", r, back, err, r)
		}
	}
	if got, want := (Receipt{ID: id, Attempt: 12, Keyed: true}).String(), id.String()+":12k"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestParseReceipt_InvalidTextIsRefused(t *testing.T) {
	t.Parallel()
	id := idOf(0, 1).String()
	for _, text := range []string{
		"", ":", id, id + ":", id + ":k", id + ":0", id + ":-1", id + ":+1", id + ":01", id + ":1kk", id + ":1 ", " " + id + ":1",
		id + ":1:2", id + ":99999999999999999999", id + ":0x1", id + ":1K", id[1:] + ":1", idOf(2000).String() + ":1", strings.Repeat("x", 9999),
	} {
		r, err := ParseReceipt(text)
		wantInvalid(t, err, ErrInvalid, "receipt", "is not a receipt")
		if r != (Receipt{}) {
			t.Errorf("ParseReceipt(%q) = %+v with an error", text, r)
		}
	}
}

// wantInvalid fails unless err is ErrInvalid, names the field, and contains all texts.
func wantInvalid(t *testing.T, err, kind error, field string, says ...string) {
	t.Helper()
	var e *Error
	if !errors.Is(err, kind) || !errors.As(err, &e) || e.Field != field {
		t.Fatalf("error %v, want kind %q and field %q", err, kind, field)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}
