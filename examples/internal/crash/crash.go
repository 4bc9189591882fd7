// Package crash runs a program in processes that are killed at a chosen step of it.
package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

const (
	dirVariable  = "CRASH_TEST_DIR"
	stepVariable = "CRASH_TEST_STEP"
	timeVariable = "CRASH_TEST_TIME"
)

// Main runs program instead of the tests in a process that was started by [Run]. It is
// what TestMain of a program's tests calls.
func Main(m *testing.M, program func(dir string) error) {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := program(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Steps counts the steps that a program has reached, and kills the process at the one that
// [Run] has asked for.
type Steps struct {
	mu   sync.Mutex
	seen map[string]int
}

// Reach is called by the program at each step.
func (s *Steps) Reach(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[step]++
	if step == os.Getenv(stepVariable) && strconv.Itoa(s.seen[step]) == os.Getenv(timeVariable) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// WhenSettled calls done when n messages of a queue, or occurrences of them, have been acked or
// have died.
func WhenSettled(q *dueq.Queue, n int64, done func()) {
	when(q, done, func(s dueq.Stats) bool {
		return s.Counters.Acked+s.Counters.Repeated+s.Counters.DeadLettered >= n
	})
}

// WhenEmpty calls done when nothing is in a queue but dead letters.
func WhenEmpty(q *dueq.Queue, done func()) {
	when(q, done, func(s dueq.Stats) bool { return s.Scheduled+s.Ready+s.Leased == 0 })
}

func when(q *dueq.Queue, done func(), is func(dueq.Stats) bool) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		if s, err := q.Stats(context.Background()); err == nil && is(s) {
			done()
			return
		}
	}
}

// Run runs the program in dir until it reaches a step for the nth time and is killed
// there; step "": to its end.
func Run(t *testing.T, dir, step string, nth int) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), program) //nolint:gosec // the test itself
	process.Env = append(os.Environ(), dirVariable+"="+dir, stepVariable+"="+step, timeVariable+"="+strconv.Itoa(nth))
	out, err := process.CombinedOutput()
	exit, failed := errors.AsType[*exec.ExitError](err)
	killed := failed && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if killed != (step != "") || err != nil && !killed {
		t.Fatalf("step %q, time %d: %v\n%s", step, nth, err, out)
	}
}
