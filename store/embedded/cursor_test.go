package embedded

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

func FuzzCursor(f *testing.F) {
	good := encodeCursor('s', position{at: epoch, id: id(7)})
	f.Add(good)
	f.Add(encodeCursor('w', start()))
	f.Add(good[:len(good)-1])
	f.Add(good + "\n")
	f.Add(good + "=")
	f.Add("")
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, cursorSize)))
	f.Fuzz(func(t *testing.T, text string) {
		order, pos, err := decodeCursor(text)
		if err != nil {
			wantInvalid(t, err, "cursor")
			return
		}
		if encodeCursor(order, pos) != text {
			t.Errorf("%q was read as %c %+v, which is written otherwise", text, order, pos)
		}
	})
}

func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var e *store.Error
	if !errors.As(err, &e) || !errors.Is(err, store.ErrInvalid) || e.Field != field {
		t.Errorf("got %v, want invalid %s", err, field)
	}
}

func TestList_CursorOfAnotherListIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, cursor := range []string{"x", encodeCursor('d', start()), encodeCursor('w', start()), encodeCursor(0, start())} {
		_, err := r.List(t.Context(), r.p, store.ListRequest{State: store.Ready, Limit: 1, Cursor: cursor})
		wantInvalid(t, err, "cursor")
	}
	for _, cursor := range []string{"x", encodeCursor('r', start())} {
		_, err := r.Check(t.Context(), r.p, store.CheckRequest{Limit: 1, Cursor: cursor})
		wantInvalid(t, err, "cursor")
	}
	_, err := r.List(t.Context(), r.p, store.ListRequest{Limit: 1, Cursor: encodeCursor('r', start())})
	wantInvalid(t, err, "state")
}
