package main

import (
	"slices"
	"strings"
	"testing"
)

func TestForecast(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	for _, delay := range []string{"0s", "30m", "90m", "5h"} {
		s.ok("send", "--queue", "orders", "--delay", delay, "body")
	}
	args := []string{"forecast", "--queue", "orders", "--step", "1h", "--spans", "2"}
	f := decode[forecast](t, s.ok(append(args, "-o", "json")...))
	if f.StepMS != 3_600_000 || f.Ready != 1 || !slices.Equal(f.Counts, []int64{1, 1}) || f.Later != 1 {
		t.Errorf("%+v", f)
	}
	text := s.ok(args...)
	for _, line := range []string{"now", "0s to 1h0m0s", "1h0m0s to 2h0m0s", "later"} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no line for %s:\n%s", line, text)
		}
	}
	s.fails(exitUsage, []string{"spans", "101"}, "forecast", "--queue", "orders", "--spans", "101")
	s.fails(exitNotFound, []string{"missing"}, "forecast", "--queue", "missing")
}
