package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSend_RepeatDeclaresARecurringMessage(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	declare := func(schedule string) string {
		t.Helper()
		return strings.TrimSpace(s.ok("send", "--queue", "reports", "--key", "daily", "--repeat", schedule, "body"))
	}
	id := declare("cron 0 9 * * 1-5 Europe/Berlin")
	if again := declare("every 24h"); again != id {
		t.Errorf("declared again: %s, want %s", again, id)
	}
	s.ok("send", "--queue", "reports", "plain")
	var shown struct{ ID, State, Repeat string }
	if err := json.Unmarshal([]byte(s.ok("show", "--queue", "reports", "-o", "json", "key:daily")), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.ID != id || shown.State != "scheduled" || shown.Repeat != "every 24h0m0s" {
		t.Errorf("%+v, want the message with its new schedule", shown)
	}
	if text := s.ok("show", "--queue", "reports", id); !strings.Contains(text, "every 24h0m0s") {
		t.Errorf("show: %q, want the schedule", text)
	}
	list := strings.Split(s.ok("list", "--queue", "reports"), "\n")
	if !strings.Contains(list[0], "SIZE  REPEAT") || !strings.Contains(list[1], "plain") || !strings.Contains(list[2], "every 24h0m0s  body") {
		t.Errorf("list: %q, want a column for schedules", list)
	}
}

func TestSend_RepeatThatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	for schedule, texts := range map[string][]string{
		"10m":                          {"--repeat", "every 10m"},
		"every soon":                   {"--repeat", "soon"},
		"every 1ms":                    {"--repeat", "1ms"},
		"cron 0 25 * * *":              {"--repeat", "25"},
		"cron 0 9 * * * Europe/Bernau": {"--repeat", "Europe/Bernau"},
	} {
		s.fails(exitUsage, texts, "send", "--queue", "q", "--key", "k", "--repeat", schedule, "body")
	}
	s.fails(exitUsage, []string{"repeat", "key"}, "send", "--queue", "q", "--repeat", "every 10m", "body")
}
