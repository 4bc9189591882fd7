package redisstore

import (
	"sync"

	"github.com/dueq-dev/dueq/store"
)

// idleClaims remembers, for each consumer, the last claim that was answered with
// nothing. The server does not, or else every idle consumer would write; so it is here
// that a repetition of such a claim is known to be one, and stays empty.
type idleClaims struct {
	mu   sync.Mutex
	last map[idleClaim]uint64
}

type idleClaim struct {
	partition store.Partition
	consumer  string
}

// maxIdleClaims bounds the memory. Forgetting one is harmless: if it is repeated, it is
// a claim like any other.
const maxIdleClaims = 10_000

func (c *idleClaims) number(p store.Partition, consumer string) (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.last[idleClaim{p, consumer}]
	return n, ok
}

func (c *idleClaims) note(p store.Partition, consumer string, number uint64, empty bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !empty {
		delete(c.last, idleClaim{p, consumer})
		return
	}
	if c.last == nil || len(c.last) >= maxIdleClaims {
		c.last = map[idleClaim]uint64{}
	}
	c.last[idleClaim{p, consumer}] = number
}
