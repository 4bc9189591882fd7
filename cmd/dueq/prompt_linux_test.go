package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal returns both ends of a terminal.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("SKIPPED: no terminals can be made here: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("SKIPPED: no terminals can be made here: %v", err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// A process asks on a terminal whether it may purge, and gets the signal of Ctrl-C as its answer.
func TestPurge_InterruptedQuestionRemovesNothing(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	s.ok("send", "-q", "orders", "body")
	_, in := terminal(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "purge", "-q", "orders", "--state", "ready", "--all")
	cmd.Env = append(os.Environ(), asCommand+"=1", "DUEQ_STORE="+s.env["DUEQ_STORE"])
	cmd.Stdin = in
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	question, err := said.ReadString(']')
	if err != nil || !strings.Contains(question, "Remove every ready message") {
		t.Fatalf("asked %q, %v", question, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := said.ReadString(' '); err != nil {
		t.Error(err)
	}
	rest, err := said.ReadString(';')
	if code := exitOf(t, cmd); code != exitInterrupted || !strings.Contains(rest, "nothing was removed") {
		t.Errorf("exit %d, stderr %q, %v; want %d", code, rest, err, exitInterrupted)
	}
	if got := s.stats("orders"); got.Ready != 1 {
		t.Errorf("left is %+v", got)
	}
}
