package main

import (
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
)

func TestShow_PrintsTheHolder(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	id := strings.TrimSpace(s.ok("send", "--queue", "q", "held"))
	if list := s.ok("list", "--queue", "q"); strings.Contains(list, "HOLDER") {
		t.Errorf("list: %q, want no column for holders where there are none", list)
	}
	held, err := client.Queue("q").Receive(t.Context(), dueq.ReceiveOptions{})
	if err != nil || len(held) != 1 {
		t.Fatalf("%d deliveries, %v", len(held), err)
	}
	s.ok("send", "--queue", "q", "waiting")
	record, err := client.Queue("q").Get(t.Context(), dueq.ID(id))
	if err != nil || record.Holder == "" {
		t.Fatalf("holder %q, %v", record.Holder, err)
	}
	if got := decode[map[string]any](t, s.ok("show", "--queue", "q", "-o", "json", id)); got["holder"] != record.Holder {
		t.Errorf("show -o json: %v, want the holder %q", got, record.Holder)
	}
	if text := s.ok("show", "--queue", "q", id); !strings.Contains(text, "holder") || !strings.Contains(text, record.Holder) {
		t.Errorf("show: %q, want the holder %q", text, record.Holder)
	}
	list := strings.Split(s.ok("list", "--queue", "q"), "\n")
	if !strings.Contains(list[0], "SIZE  HOLDER") || !strings.Contains(list[2], record.Holder+"  held") || !strings.HasSuffix(list[1], " waiting") {
		t.Errorf("list: %q, want a column for holders", list)
	}
	for _, m := range decode[page](t, s.ok("list", "--queue", "q", "-o", "json")).Messages {
		if want := map[dueq.State]string{dueq.Leased: record.Holder}[m.State]; m.Holder != want {
			t.Errorf("list -o json: %s message with the holder %q, want %q", m.State, m.Holder, want)
		}
	}
}
