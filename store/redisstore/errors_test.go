package redisstore

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// replyError is an error that a server answers.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

func TestCall_ErrorsThatAreRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		repeat bool
		kind   error // of those that are not
	}{
		{replyError("LOADING Redis is loading the dataset in memory"), true, nil},
		{replyError("READONLY You can't write against a read only replica."), true, nil},
		{replyError("ERR Error running script (call to f_0): @user_script:1: -READONLY You can't write"), true, nil},
		{replyError("TRYAGAIN Multiple keys request during rehashing of slot"), true, nil},
		{replyError("CLUSTERDOWN The cluster is down"), true, nil},
		{replyError("MASTERDOWN Link with MASTER is down"), true, nil},
		{replyError("BUSY Redis is busy running a script."), true, nil},
		{replyError("MISCONF Errors writing to the AOF file: No space left on device"), true, nil},
		{replyError("NOREPLICAS Not enough good replicas to write."), true, nil},
		{replyError("MOVED 3999 127.0.0.1:6381"), true, nil},
		{replyError("ERR max number of clients reached"), true, nil},
		{io.EOF, true, nil},
		{io.ErrUnexpectedEOF, true, nil},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, true, nil},
		{redis.ErrPoolTimeout, true, nil},
		{errors.New("redis: all sentinels specified in configuration are unreachable"), true, nil},
		{replyError("OOM command not allowed when used memory > 'maxmemory'."), false, store.ErrQueueFull},
		{replyError("ERR Error running script: @user_script:1: -OOM command not allowed"), false, store.ErrQueueFull},
		{replyError("LAYOUT 2"), false, store.ErrCorrupt},
		{replyError("WRONGTYPE Operation against a key holding the wrong kind of value"), false, store.ErrCorrupt},
		{replyError("NOPERM this user has no permissions to run the 'eval' command"), false, store.ErrUnavailable},
		{replyError("WRONGPASS invalid username-password pair or user is disabled."), false, store.ErrUnavailable},
		{redis.ErrClosed, false, store.ErrClosed},
		{fmt.Errorf("redis 5.0.14 is %w", errTooOld), false, store.ErrUnavailable},
	} {
		if got := transient(c.err); got != c.repeat {
			t.Errorf("%q is repeated: %t, want %t", c.err, got, c.repeat)
		}
		if got := permanent(c.err); !c.repeat && !errors.Is(got, c.kind) {
			t.Errorf("%q becomes %q, want %q", c.err, got, c.kind)
		}
	}
}
