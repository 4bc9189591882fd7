package main

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestReadme_CurlCommandsWork pastes the commands with curl of the README into a shell.
func TestReadme_CurlCommandsWork(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "curl", "sed"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed: the commands of the README are not tested", program)
		}
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, commands, found := strings.Cut(string(text), "```sh\ncurl ")
	if commands, _, _ = strings.Cut(commands, "```"); !found {
		t.Fatal("the commands are not there")
	}
	server := inMemory(t).serve()
	pasted := strings.ReplaceAll("curl "+commands, "localhost:7373", strings.TrimPrefix(server.url, "http://"))
	out, err := exec.CommandContext(t.Context(), "sh", "-e", "-c", pasted).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := server.want(http.StatusOK, "GET", "/v1/queues/greetings", "", ""); !strings.Contains(got, `"acked":1`) || !strings.Contains(got, `"leased":0`) {
		t.Errorf("the message is not acked: %s\n%s", got, out)
	}
}
