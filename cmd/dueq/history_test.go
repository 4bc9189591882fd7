package main

import (
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
)

func TestHistory_DoneMessagesAreListedShownAndPurged(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	s.ok("queue", "create", "--queue", "q", "--history", "24h", "--max-history", "100")
	q := client.Queue("q")
	id := strings.TrimSpace(s.ok("send", "--queue", "q", "--key", "order-1", "what ran"))
	held, err := q.Receive(t.Context(), dueq.ReceiveOptions{Max: 1})
	if err != nil || len(held) != 1 {
		t.Fatalf("received %d, %v", len(held), err)
	}
	if err := held[0].Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := decode[record](t, s.ok("show", "--queue", "q", "key:order-1", "-o", "json"))
	if got.ID != id || got.State != dueq.Done || got.Ending != dueq.EndingAcked || got.EndedAt == "" || got.Due != "" || got.Attempt != 1 {
		t.Errorf("shown: %+v", got)
	}
	for _, args := range [][]string{{"--state", "done"}, {"--ended", "-1h..1h"}, {}} {
		if out := s.ok(append([]string{"list", "--queue", "q"}, args...)...); !strings.Contains(out, id) || !strings.Contains(out, "done") {
			t.Errorf("list %v printed %q", args, out)
		}
	}
	if out := s.ok("show", "--queue", "q", id); !strings.Contains(out, "acked") {
		t.Errorf("show printed %q", out)
	}
	if got := s.stats("q"); got.Done != 1 || got.Acked != 1 {
		t.Errorf("stats are %+v", got)
	}
	if got := s.ok("purge", "--queue", "q", "--state", "done", "--all", "--yes"); got != "purged 1\n" {
		t.Errorf("purge printed %q", got)
	}
}
