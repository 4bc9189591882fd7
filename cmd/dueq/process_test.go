package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// start runs dueq as a process of its own and returns it with its standard output.
func (s *session) start(stdin io.Reader, args ...string) (*exec.Cmd, *bufio.Reader) {
	s.t.Helper()
	program, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), program, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "DUEQ_STORE="+s.env["DUEQ_STORE"])
	cmd.Stdin = stdin
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

// exitOf waits for the end of a process; -1 means that a signal has ended it.
func exitOf(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Error(err)
	}
	return cmd.ProcessState.ExitCode()
}

func TestFollow_SignalEndsItGracefully(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		s, _ := onRedis(t)
		s.ok("send", "--queue", "q", "body")
		cmd, out := s.start(nil, "receive", "--queue", "q", "--follow", "-o", "json")
		line, err := out.ReadString('\n')
		if err != nil || *decode[delivery](t, line).Body != "body" {
			t.Errorf("received %q, %v", line, err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if code := exitOf(t, cmd); code != exitOK {
			t.Errorf("after %v: exit %d, want %d", sig, code, exitOK)
		}
		if got := s.stats("q"); got.Acked != 1 || got.Leased != 0 {
			t.Errorf("after %v: %+v, want 1 acked", sig, got)
		}
	}
}

// TestImport_SignalEndsItWhileItWaits checks that Ctrl-C ends an import that waits for input, and that
// the lines read before are stored.
func TestImport_SignalEndsItWhileItWaits(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	in, feed := io.Pipe()
	defer func() { _ = feed.Close() }()
	s.ok("queue", "create", "--queue", "q")
	cmd, out := s.start(in, "import", "--queue", "q", "-", "-o", "json")
	if _, err := io.WriteString(feed, `{"body":1}`+"\n"); err != nil {
		t.Fatal(err)
	}
	deliveries, err := client.Queue("q").Receive(t.Context(), dueq.ReceiveOptions{Wait: 10 * time.Second})
	if err != nil || len(deliveries) != 1 {
		t.Fatalf("received %v, %v", deliveries, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	line, err := out.ReadString('\n')
	if err != nil || decode[importResult](t, line).Stored != 1 {
		t.Errorf("import printed %q, %v", line, err)
	}
	if err := feed.Close(); err != nil { // the copying goroutine of exec waits for it
		t.Fatal(err)
	}
	if code := exitOf(t, cmd); code != exitFailure {
		t.Errorf("exit %d, want %d", code, exitFailure)
	}
}

// TestRun_SecondSignalEndsAtOnce makes a process block in writing to a full pipe. After one signal it
// would still wait for the write.
func TestRun_SecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	if got := s.feed(strings.Repeat("x", 200<<10), "send", "--queue", "q", "-"); got.code != exitOK {
		t.Fatal(got.err)
	}
	cmd, out := s.start(nil, "receive", "--queue", "q", "--follow")
	if _, err := out.Peek(1); err != nil {
		t.Fatal(err)
	}
	ended := make(chan int, 1)
	go func() { ended <- exitOf(t, cmd) }()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case code := <-ended:
			if code != -1 {
				t.Errorf("exit %d, want it to be ended by the signal", code)
			}
			return
		case <-again.C: // signals in quick succession can count as one
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
	}
}
