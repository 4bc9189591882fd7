package report

import (
	"testing"

	"github.com/dueq-dev/dueq/bench/workload"
	"github.com/dueq-dev/dueq/internal/measure"
)

func TestStat_OnlyMeasuredValuesCount(t *testing.T) {
	t.Parallel()
	r := &Result{Samples: []Sample{
		{System: "a", Workload: "drain", Values: workload.Values{"per_s": 10}},
		{System: "a", Workload: "drain", Values: workload.Values{"per_s": 30}},
		{System: "a", Workload: "drain", Values: workload.Values{"per_s": 1}, Error: "cut off"},
		{System: "a", Workload: "send-1", Values: workload.Values{"per_s": 99}},
		{System: "b", Workload: "drain", Values: workload.Values{"per_s": 99}},
	}}
	if got, want := r.Stat("a", "drain", "per_s"), (measure.Stat{Median: 20, Min: 10, Max: 30, Rounds: 2}); got != want {
		t.Errorf("Stat = %+v, want %+v", got, want)
	}
	if got := r.Stat("a", "drain", "bytes"); got.Rounds != 0 {
		t.Errorf("a value that was not measured: %+v", got)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]float64{
		"0": 0, "0.05": 0.0512, "4.7": 4.695, "12.3": 12.345, "123": 123.45, "-471": -470.6, "1.5": 1.5,
		"1,230": 1234.5, "98,800": 98_765, "1,230,000": 1_234_567, "-12,300": -12_345, "999": 999.4,
	} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %q, want %q", x, got, want)
		}
	}
	if got := count(20_000); got != "20,000" {
		t.Errorf("count = %q", got)
	}
}

func TestCountLines(t *testing.T) {
	t.Parallel()
	code := "// Package a.\npackage a\n\n/* b\n * c\n */\nvar x = 1 // one\n"
	if got := countLines(code, ".go"); got != 2 {
		t.Errorf("Go: %d lines, want 2", got)
	}
	if got := countLines("-- what\nreturn 1\n\n", ".lua"); got != 1 {
		t.Errorf("Lua: %d lines, want 1", got)
	}
}
