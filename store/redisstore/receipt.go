package redisstore

import "github.com/dueq-dev/dueq/store"

// idLen is the length of an id as text.
const idLen = 26

// appendReceipt appends a receipt as scripts know it: that of a first delivery without a
// key is the id alone.
func appendReceipt(b []byte, r store.Receipt) []byte {
	if isID(r) {
		return r.ID.AppendTo(b)
	}
	return r.AppendTo(b)
}

func isID(r store.Receipt) bool { return r.Attempt == 1 && !r.Keyed }

func parseReceipt(s string) (store.Receipt, error) {
	if len(s) != idLen {
		return store.ParseReceipt(s)
	}
	id, err := store.ParseID(s)
	return store.Receipt{ID: id, Attempt: 1}, err
}
