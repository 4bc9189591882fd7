package migrate

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/migrate"
)

// TestBullMQ_JobsOfTheRealLibrary has BullMQ write jobs in all states.
func TestBullMQ_JobsOfTheRealLibrary(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../bullmq/node_modules/bullmq/package.json")
	if err != nil {
		t.Skip("SKIPPED: BullMQ is not installed (cd bench/bullmq && npm ci --ignore-scripts): only recorded jobs are tested")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: there is no node: only recorded jobs of BullMQ are tested")
	}
	var library struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &library); err != nil {
		t.Fatal(err)
	}
	socket, rdb := sourceRedis(t)
	due := time.Now().Add(48 * time.Hour)
	cmd := exec.CommandContext(t.Context(), node, filepath.Join("..", "bullmq", "migrate.js"), socket, strconv.FormatInt(due.UnixMilli(), 10), strconv.FormatInt(failing.Milliseconds(), 10))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	record(t, rdb, "bullmq", library.Version)

	q, same := destination(t), unchanged(t, rdb)
	c := migrate.Config{Kind: "bullmq", From: "unix://" + socket, Name: "hooks", To: q}
	states := []migrate.State{
		{State: "delayed", Source: 2, Copied: 2},
		{State: "prioritized", Source: 1, Copied: 1},
		{State: "wait", Source: 4, Copied: 2, Skipped: 2},
		{State: "waiting-children", Source: 1, Skipped: 1},
		{State: "failed", Source: 1, Skipped: 1},
		{State: "completed", Source: 1, Skipped: 1},
	}
	copyTwice(t, c, 5, map[string]int{"priority": 1, "backoff": 1, "deduplication": 1}, states)
	same()

	all := copies(t, q)
	delayed, retried := all[`{"n":"delayed"}`], all[`{"n":"retried"}`]
	near(t, &delayed, due)
	near(t, &retried, time.Now().Add(failing))
	if delayed.MaxAttempts != 1 || retried.MaxAttempts != 4 || len(all) != 5 {
		t.Errorf("%d and %d attempts, %d messages, want 1, 4, 5", delayed.MaxAttempts, retried.MaxAttempts, len(all))
	}
	if h := delayed.Headers; h[migrate.HeaderFrom] != "bullmq:hooks:order-42" || h[migrate.HeaderType] != "delayed" {
		t.Errorf("headers %v", h)
	}
}
