package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// errTooOld is the error of a server that repeating a call will not make newer.
var errTooOld = errors.New("too old")

// errNoMaster is the error of a Cluster that has no master yet.
var errNoMaster = errors.New("the cluster has no masters")

// transient reports whether a call that failed with err may succeed when it is repeated.
// Repeating is safe whether or not the call was executed: see package store. What is no
// answer of the server came from the network, from Sentinel or from the pool.
func transient(err error) bool {
	var reply redis.Error
	if errors.As(err, &reply) {
		return transientReply(reply.Error())
	}
	return !errors.Is(err, redis.ErrClosed) && !errors.Is(err, errTooOld)
}

// transientReply knows the errors of a server that will recover without help or with its
// operator's help. MOVED and ASK arrive here only when go-redis has followed several,
// or on the one connection that a replicated push is bound to.
func transientReply(text string) bool {
	for _, code := range [...]string{
		"LOADING", "READONLY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "BUSY", "MISCONF",
		"NOREPLICAS", "MOVED", "ASK", "ERR max number of clients reached",
	} {
		if hasCode(text+" ", code) {
			return true
		}
	}
	return false
}

// permanent turns an error that repeating cannot help into one of package store's kinds.
func permanent(err error) error {
	if errors.Is(err, redis.ErrClosed) {
		return store.ErrClosed
	}
	var reply redis.Error
	text := ""
	if errors.As(err, &reply) {
		text = reply.Error()
	}
	switch {
	case hasCode(text, "OOM"):
		return fmt.Errorf("redis is at its maxmemory: %w", store.ErrQueueFull)
	case hasCode(text, "LAYOUT"):
		return wrongLayout(strings.TrimPrefix(text, "LAYOUT "))
	case hasCode(text, "WRONGTYPE"):
		return fmt.Errorf("a key of the queue has been overwritten: %w: %w", store.ErrCorrupt, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

func wrongLayout(layout string) error {
	return fmt.Errorf("layout %.20q, this version reads 1: %w", layout, store.ErrCorrupt)
}

// hasCode looks for an error code at the start of a reply, or where Redis 6.2 puts that
// of a command in a script: behind a '-'.
func hasCode(text, code string) bool {
	return strings.HasPrefix(text, code+" ") || strings.Contains(text, "-"+code+" ")
}

// fail names the operation and the queue of an error, once.
func fail(op, queue string, err error) error {
	return &store.Error{Op: op, Queue: queue, Err: err}
}

// ended is the error of a call that stopped because of its context: cause is what the
// last try met, nil if there was none.
func ended(ctx context.Context, cause error) error {
	if cause == nil || errors.Is(cause, ctx.Err()) {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, ctx.Err(), cause)
}
