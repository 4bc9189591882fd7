// Package http tests the programs in this directory, which are in other languages.
package http

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/dueqhttp/push"
)

const deadline = time.Minute // of a program that is slow to start

// program returns a command that runs in this directory, or skips the test if its interpreter is
// missing.
func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(args[0])
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed: its example is not tested", args[0])
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// begin starts a program that runs until the end of the test.
func begin(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// until polls a condition about a real process.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", deadline, what)
		}
	}
}

func TestTasks_SendsAndHandlesMessages(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"Python": {"python3", "tasks.py"}, "Node": {"node", "tasks.mjs"}, "PHP": {"php", "tasks.php"}, "curl": {"sh", "tasks.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "curl" {
				program(t, nil, "curl")
			}
			client, err := dueq.NewMemory(&dueq.Options{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close() })
			secret, hash := dueqhttp.NewSecret()
			stopping, stop := context.WithCancel(context.Background())
			h, err := dueqhttp.Handler(client, &dueqhttp.Options{
				Tokens:   []dueqhttp.Token{{Name: "mail", SHA256: hash, Scopes: []dueqhttp.Scope{dueqhttp.Produce, dueqhttp.Consume}, Queues: []string{"mail"}}},
				Stopping: stopping, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(h)
			t.Cleanup(func() { stop(); server.Close() })
			env := []string{"DUEQ_URL=" + server.URL, "DUEQ_TOKEN=" + secret}
			for range 2 { // the second is recognized
				if out, err := program(t, env, append(command, "send", "a@example.com")...).Output(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			mail := client.Queue("mail")
			if _, err := mail.Send(t.Context(), dueq.Message{Body: []byte("no mail"), Key: "bad"}); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			worker := program(t, env, append(command, "work")...)
			worker.Stdout = &out
			if err := worker.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "one message is acked, and the other has failed", func() bool {
				s, err := mail.Stats(t.Context())
				return err == nil && s.Counters.Acked == 1 && s.Counters.Nacked == 1
			})
			_ = worker.Process.Kill()
			if err := worker.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Fatal(err)
			}
			if s, err := mail.Stats(t.Context()); err != nil || s.Counters.Sent != 2 || s.Counters.Deduplicated != 1 {
				t.Errorf("%+v, %v, want that the same mail was sent once", s.Counters, err)
			}
			if out.String() != "mail to a@example.com\n" {
				t.Errorf("the worker printed %q", out.String())
			}
			if r, err := mail.Get(t.Context(), dueq.Key("bad")); err != nil || r.LastFailure == "" {
				t.Errorf("%+v, %v, want the reason of the failure", r, err)
			}
		})
	}
}

func TestHook_TakesSignedMessagesOnly(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	for name, command := range map[string][]string{"Python": {"python3", "hook.py"}, "Node": {"node", "hook.mjs"}, "PHP": {"php", "-S", "", "hook.php"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t)
			_, port, _ := net.SplitHostPort(address)
			for i := range command {
				if command[i] == "" {
					command[i] = address
				}
			}
			begin(t, program(t, []string{"PORT=" + port, "WEBHOOK_SECRET=" + secret}, command...))
			until(t, "the endpoint listens", func() bool {
				conn, err := net.Dial("tcp", address)
				if err == nil {
					_ = conn.Close()
				}
				return err == nil
			})
			post := func(secrets ...string) error {
				h, err := push.Handler(push.Target{URL: "http://" + address + "/", Secrets: secrets, Allow: []string{"127.0.0.1"}})
				if err != nil {
					t.Fatal(err)
				}
				return h(t.Context(), &dueq.Delivery{ID: "1", Queue: "mail", Body: []byte(`{"to":"é"}`)})
			}
			const other = "whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB"
			if err := post(secret); err != nil {
				t.Errorf("signed: %v", err)
			}
			if err := post(other, secret); err != nil {
				t.Errorf("signed by two secrets: %v", err)
			}
			for what, err := range map[string]error{"another secret": post(other), "no secret": post()} {
				if err == nil || !strings.Contains(err.Error(), "401") {
					t.Errorf("%s: %v", what, err)
				}
			}
			for age, want := range map[time.Duration]int{0: http.StatusNoContent, time.Hour: http.StatusUnauthorized, -time.Hour: http.StatusUnauthorized} {
				if got := postAged(t, address, secret, age); got != want {
					t.Errorf("signed %s ago: %d, want %d", age, got, want)
				}
			}
		})
	}
}

// postAged posts a message that was signed some time ago, and returns the status.
func postAged(t *testing.T, address, secret string, age time.Duration) int {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	at := strconv.FormatInt(time.Now().Add(-age).Unix(), 10)
	sum := hmac.New(sha256.New, key)
	_, _ = io.WriteString(sum, "1."+at+".body")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("webhook-id", "1")
	r.Header.Set("webhook-timestamp", at)
	r.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
