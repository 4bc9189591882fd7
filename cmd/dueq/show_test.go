package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
)

func TestShow_PrintsTheFailuresBefore(t *testing.T) {
	t.Parallel()
	s, client := onRedis(t)
	id := strings.TrimSpace(s.ok("send", "--queue", "q", "body"))
	for _, reason := range []string{"no route", "\x1b[31mrefused", "timeout"} {
		held, err := client.Queue("q").Receive(t.Context(), dueq.ReceiveOptions{})
		if err != nil || len(held) != 1 {
			t.Fatalf("%d deliveries, %v", len(held), err)
		}
		if err := held[0].Nack(t.Context(), 0, errors.New(reason)); err != nil {
			t.Fatal(err)
		}
	}
	shown := s.ok("show", "--queue", "q", id)
	if !regexp.MustCompile(`(?m)^last failure +timeout$`).MatchString(shown) {
		t.Errorf("show: %q, want the last failure", shown)
	}
	before := regexp.MustCompile(`(?m)^failure before +attempt (\d), \d{4}-\d\d-\d\dT\S+Z: (.*)$`).FindAllStringSubmatch(shown, -1)
	if len(before) != 2 || before[0][1] != "2" || before[0][2] != `\x1b[31mrefused` || before[1][1] != "1" || before[1][2] != "no route" {
		t.Errorf("show: %q, want the two failures before it: %q", shown, before)
	}
	got := decode[record](t, s.ok("show", "--queue", "q", "-o", "json", id))
	if len(got.RecentFailures) != 3 || got.RecentFailures[1].Text != "\x1b[31mrefused" || got.RecentFailures[2].Attempt != 1 {
		t.Errorf("show -o json: %+v, want all three", got)
	}
}
