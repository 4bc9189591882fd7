package embedded

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/dueq-dev/dueq/store"
)

const (
	cursorVersion = 1
	cursorSize    = 2 + 8 + len(store.ID{})
)

// encodeCursor returns the opaque text of a position in the order that the letter names.
func encodeCursor(order byte, pos position) string {
	b := make([]byte, 0, cursorSize)
	b = append(b, cursorVersion, order)
	b = binary.BigEndian.AppendUint64(b, uint64(pos.at))
	b = append(b, pos.id[:]...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor takes only what encodeCursor wrote. Anything else is an *Error of kind
// store.ErrInvalid.
func decodeCursor(text string) (order byte, pos position, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != cursorSize || b[0] != cursorVersion {
		return 0, position{}, badCursor(text)
	}
	order = b[1]
	pos = position{at: int64(binary.BigEndian.Uint64(b[2:])), id: store.ID(b[10:])}
	if encodeCursor(order, pos) != text {
		return 0, position{}, badCursor(text) // line breaks and stray bits are skipped by the decoder
	}
	return order, pos, nil
}

func badCursor(text string) error {
	const most = 64
	if len(text) > most {
		text = text[:most] + "..."
	}
	return &store.Error{Field: "cursor", Err: fmt.Errorf("%+q is not a cursor of this list: %w", text, store.ErrInvalid)}
}
