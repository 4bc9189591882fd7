//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/dueq-dev/dueq"
)

// TestWork_ExitStatusIsTheVerdict has a command that ends in each of the ways.
func TestWork_ExitStatusIsTheVerdict(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	for _, key := range []string{"done", "later", "fails"} {
		s.ok("send", "--queue", "q", "--key", key, "--header", "tenant=7", "body of "+key)
	}
	cmd, out := s.start(nil, "work", "--queue", "q", "--later", "1h", "--exec", `
		body=$(cat)
		echo "$DUEQ_QUEUE $DUEQ_KEY $DUEQ_ATTEMPT/$DUEQ_MAX_ATTEMPTS $DUEQ_FENCING_TOKEN $DUEQ_HEADERS $body"
		case $DUEQ_KEY in
		later) echo "busy now" >&2; exit 75 ;;
		fails) echo "trying" >&2; echo "no luck" >&2; exit 3 ;;
		esac`)
	lines := map[string]bool{}
	for range 3 {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		lines[strings.TrimSpace(line)] = true
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd); code != exitOK {
		t.Errorf("exit %d, want %d", code, exitOK)
	}
	for _, key := range []string{"done", "later", "fails"} {
		if want := `q ` + key + ` 1/25 1 {"tenant":"7"} body of ` + key; !lines[want] {
			t.Errorf("no line %q in %v", want, lines)
		}
	}
	if got := s.stats("q"); got.Acked != 1 || got.Snoozed != 1 || got.Nacked != 1 || got.Leased != 0 {
		t.Errorf("%+v, want 1 acked, 1 snoozed, 1 nacked", got)
	}
	for key, want := range map[string]string{"later": "snoozed: exit status 75: busy now", "fails": "exit status 3: no luck"} {
		record, err := client.Queue("q").Get(t.Context(), dueq.Key(key))
		if err != nil || record.LastFailure != want {
			t.Errorf("%s: last failure %q, %v, want %q", key, record.LastFailure, err, want)
		}
	}
}

// TestWork_StopEndsTheCommandAndGivesItsMessageBack has a command that runs until it gets SIGTERM.
func TestWork_StopEndsTheCommandAndGivesItsMessageBack(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	s.ok("send", "--queue", "q", "body")
	cmd, out := s.start(nil, "work", "--queue", "q", "--grace", "1ms", "--exec", `trap 'echo asked to end; exit 1' TERM; echo started; sleep 600 & wait`)
	for i, want := range []string{"started\n", "asked to end\n"} {
		line, err := out.ReadString('\n')
		if err != nil || line != want {
			t.Fatalf("read %q, %v, want %q", line, err, want)
		}
		if i > 0 {
			break
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	if code := exitOf(t, cmd); code != exitOK {
		t.Errorf("exit %d, want %d", code, exitOK)
	}
	if got := s.stats("q"); got.Ready != 1 || got.Leased != 0 || got.Nacked != 0 {
		t.Errorf("%+v, want the message ready, without a failure", got)
	}
}

// TestWork_CancelledMessageEndsItsCommand cancels the message while its command runs.
func TestWork_CancelledMessageEndsItsCommand(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	s.ok("send", "--queue", "q", "--key", "k", "body")
	cmd, out := s.start(nil, "work", "--queue", "q", "--exec", `trap 'echo asked to end; exit 1' TERM; echo started; sleep 600 & wait`)
	if line, err := out.ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	if err := client.Queue("q").Cancel(t.Context(), dueq.Key("k")); !errors.Is(err, dueq.ErrRunning) {
		t.Fatal(err)
	}
	if line, err := out.ReadString('\n'); err != nil || line != "asked to end\n" {
		t.Errorf("read %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd); code != exitOK {
		t.Errorf("exit %d, want %d", code, exitOK)
	}
	if got := s.stats("q"); got.Ready+got.Scheduled+got.Leased != 0 || got.Cancelled != 1 {
		t.Errorf("%+v, want the message gone", got)
	}
}

func TestEnvironment_HasHeadersAsJSON(t *testing.T) {
	t.Parallel()
	for _, headers := range []map[string]string{nil, {"a": "1\"2", "b": ""}} {
		env, err := environment(&dueq.Delivery{Headers: headers})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		for _, variable := range env {
			if text, ok := strings.CutPrefix(variable, "DUEQ_HEADERS="); ok {
				err = json.Unmarshal([]byte(text), &got)
			}
		}
		if err != nil || got == nil || len(got) != len(headers) || got["a"] != headers["a"] {
			t.Errorf("%v, %v, want %v", got, err, headers)
		}
	}
}

func TestWork_RefusesWrongFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--exec", ""}, {}, {"--exec", "true", "--concurrency", "0"}, {"--exec", "true", "--lease", "1ms"}} {
		if got := inMemory(t).run(append([]string{"work", "--queue", "q"}, args...)...); got.code != exitUsage {
			t.Errorf("%q: exit %d, %s", args, got.code, got.err)
		}
	}
}
