package redisstore

import "strings"

// texts are arguments of a script that are made one after the other, in one piece of
// memory. An argument is a pointer to its text, which takes no box of its own.
type texts struct {
	buffer strings.Builder
	all    []string
}

// newTexts makes space for n texts of size bytes together.
func newTexts(n, size int) *texts {
	t := &texts{all: make([]string, 0, n)}
	t.buffer.Grow(size)
	return t
}

// add appends a text, given in parts.
func (t *texts) add(parts ...[]byte) *string {
	start := t.buffer.Len()
	for _, part := range parts {
		t.buffer.Write(part)
	}
	t.all = append(t.all, t.buffer.String()[start:])
	return &t.all[len(t.all)-1]
}
