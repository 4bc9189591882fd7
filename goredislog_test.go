package dueq_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// go-redis has one logger for the whole process, so this test runs in its own process.
func TestOpen_LogsOfGoRedisGoToTheLogger(t *testing.T) {
	const child = "DUEQ_TEST_GO_REDIS_LOG"
	if os.Getenv(child) == "" {
		t.Parallel()
		var out, raw strings.Builder
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1")
		cmd.Stdout, cmd.Stderr = &out, &raw
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if raw.Len() > 0 {
			t.Errorf("on stderr: %s", &raw)
		}
		if !strings.Contains(out.String(), `msg="dueq: go-redis" line=`) {
			t.Errorf("the logger got no line of go-redis: %s", &out)
		}
		return
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := dueq.Open(ctx, "redis://127.0.0.1:1", &dueq.Options{Logger: log}); err == nil {
		t.Error("a server that is not there was opened")
	}
}
