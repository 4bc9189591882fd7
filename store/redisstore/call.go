package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/reach"
	"github.com/dueq-dev/dueq/store"
)

const (
	callTimeout  = 10 * time.Second // how long a call is repeated when its context has no deadline
	firstBackoff = 8 * time.Millisecond
	lastBackoff  = 500 * time.Millisecond
)

// onceCmd is a command that go-redis must not repeat: it would do so unseen.
type onceCmd struct{ redis.Cmder }

// NoRetry makes go-redis not repeat it. Redirections in a Cluster are followed all the same, because
// a redirected command has not been executed.
func (onceCmd) NoRetry() bool { return true }

// call is one run of a script, with all that its repetitions need.
type call struct {
	op     string
	queue  string
	script *script
	keys   []string
	args   []any
	flat   bool // the reply is a list of texts and numbers, wanted as []string
	joint  bool // may share a pipeline with calls to other partitions
}

// start refuses what needs no call to the server, and inspects the server of a key at first
// use.
func (s *Store) start(ctx context.Context, op, queue, key string) error {
	if err := s.ready(ctx, op, queue); err != nil {
		return err
	}
	return s.inspect(ctx, op, queue, key)
}

func (s *Store) ready(ctx context.Context, op, queue string) error {
	switch {
	case s.closed.Load():
		return store.ErrClosed
	case ctx.Err() != nil:
		return fail(op, queue, ctx.Err())
	}
	return nil
}

// run runs a script until it answers, and returns its reply.
func (s *Store) run(ctx context.Context, c call) (any, error) {
	if err := s.start(ctx, c.op, c.queue, c.keys[0]); err != nil {
		return nil, err
	}
	return s.repeat(ctx, c.op, c.queue, func(int) (any, error) { return s.try(ctx, c) })
}

// repeat calls try until it succeeds or fails for good, waiting a little longer each
// time, up to the context's deadline or for callTimeout.
func (s *Store) repeat(ctx context.Context, op, queue string, try func(attempt int) (any, error)) (any, error) {
	ctx, cancel := withTimeout(ctx, callTimeout)
	defer cancel()
	var cause error
	for attempt := 0; ; attempt++ {
		reply, err := try(attempt)
		switch {
		case err == nil:
			return reply, nil
		case ctx.Err() != nil:
			if cause != nil && errors.Is(err, ctx.Err()) {
				err = cause // the error of a wait says less
			}
			return nil, fail(op, queue, s.gaveUp(ctx, err))
		case errors.Is(err, store.ErrNotReplicated):
			return nil, fail(op, queue, err)
		case !transient(err), reach.IsAtOnce(ctx) && reach.Refused(err):
			return nil, fail(op, queue, permanent(err))
		}
		cause = err
		if err := s.wait(ctx, attempt); err != nil {
			if errors.Is(err, store.ErrClosed) {
				return nil, store.ErrClosed
			}
			return nil, fail(op, queue, s.gaveUp(ctx, cause))
		}
	}
}

// withTimeout returns a context that ends after d with ErrUnavailable as its cause, or ctx if
// that has a deadline.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, timeoutError(d))
}

// timeoutError is the cause of a deadline that the library has set, not the caller.
type timeoutError time.Duration

func (e timeoutError) Error() string { return fmt.Sprintf("no success for %s", time.Duration(e)) }

// Is makes it an ErrUnavailable, without the cost of wrapping one for each call.
func (e timeoutError) Is(target error) bool { return target == store.ErrUnavailable }

func (s *Store) gaveUp(ctx context.Context, cause error) error {
	if late := context.Cause(ctx); errors.Is(late, store.ErrUnavailable) {
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, late, cause)
	}
	return ended(ctx, cause)
}

// wait sleeps before the next try: exponential, with jitter so that callers spread out.
func (s *Store) wait(ctx context.Context, attempt int) error {
	d := min(firstBackoff<<min(attempt, 10), lastBackoff)
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return store.ErrClosed
	}
}

// try runs a script once: by its hash, or with its source where the server lacks it.
func (s *Store) try(ctx context.Context, c call) (any, error) {
	cmd := c.command(ctx, "evalsha", c.script.sha)
	var err error
	if c.joint {
		err = s.pipelines.do(ctx, c.script.name, c.keys[0], cmd)
	} else {
		err = s.rdb.Process(ctx, cmd)
	}
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = c.command(ctx, "eval", c.script.source)
		err = s.rdb.Process(ctx, cmd)
	}
	return reply(cmd, err)
}

func (c call) command(ctx context.Context, verb, text string) onceCmd {
	args := make([]any, 0, 3+len(c.keys)+len(c.args))
	args = append(args, verb, text, len(c.keys))
	for _, key := range c.keys {
		args = append(args, key)
	}
	args = append(args, c.args...)
	if c.flat { // no box for each element
		return onceCmd{redis.NewStringSliceCmd(ctx, args...)}
	}
	return onceCmd{redis.NewCmd(ctx, args...)}
}

// reply takes the answer of a command. A script that answers nil is no error.
func reply(cmd onceCmd, err error) (any, error) {
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	switch cmd := cmd.Cmder.(type) {
	case *redis.Cmd:
		return cmd.Val(), nil
	case *redis.StringSliceCmd:
		return cmd.Val(), nil
	case *redis.SliceCmd:
		return cmd.Val(), nil
	}
	return nil, unexpected(cmd)
}
