package dueq

import (
	"fmt"
	"strings"

	"github.com/dueq-dev/dueq/store"
)

// Ref names one message of a queue, by id or by key: make it with [ID], [Key] or
// [ParseRef]. Refs are comparable. The zero Ref names nothing: every call that needs a
// message refuses it with [ErrInvalid].
type Ref struct {
	by   refBy
	name string
}

type refBy byte

const (
	byID refBy = iota + 1
	byKey
)

// ID names the message with an id, as [Queue.Send] returned it. A call that gets a
// malformed id returns [ErrInvalid].
func ID(id string) Ref { return Ref{byID, id} }

// Key names the message that has a key: the one that is scheduled, ready or leased or, if
// there is none, of the dead ones that had it the one that died last. [Queue.Get] then looks
// among the done ones (see Settings.History) for the one that ended last; of those with one
// key it finds the last 16. A call that gets an empty or malformed key returns [ErrInvalid].
func Key(key string) Ref { return Ref{byKey, key} }

// keyPrefix tells a key from an id: ids hold no colon.
const keyPrefix = "key:"

// ParseRef reads the text of a Ref: an id, or "key:" and a key, such as "key:order-42".
// Errors: [ErrInvalid].
func ParseRef(text string) (Ref, error) {
	r := ID(text)
	if key, ok := strings.CutPrefix(text, keyPrefix); ok {
		r = Key(key)
	}
	if _, err := r.plain(); err != nil {
		if r.by == byID {
			err = fmt.Errorf("%w (a key is written as %sKEY)", err, keyPrefix)
		}
		return Ref{}, err
	}
	return r, nil
}

// String returns the text that [ParseRef] reads; "" for the zero Ref.
func (r Ref) String() string {
	if r.by == byKey {
		return keyPrefix + r.name
	}
	return r.name
}

// plain returns r as the store takes it, or what is wrong with it.
func (r Ref) plain() (store.Ref, error) {
	switch r.by {
	case byID:
		id, err := store.ParseID(r.name)
		if err == nil && id.IsZero() {
			err = invalid("id", "has no bits set, which no message's id has")
		}
		return store.Ref{ID: id}, err
	case byKey:
		return store.Ref{Key: r.name}, store.ValidateKey(r.name)
	default:
		return store.Ref{}, invalid("ref", "is empty, want an id or a key")
	}
}
