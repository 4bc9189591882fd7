package report

import (
	"testing"

	"github.com/dueq-dev/dueq/bench/workload"
)

func TestNewStat(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []float64
		want   Stat
	}{
		"none":                        {nil, Stat{}},
		"one is all three":            {[]float64{7}, Stat{7, 7, 7, 1}},
		"odd: the one in the middle":  {[]float64{9, 1, 5}, Stat{5, 1, 9, 3}},
		"even: the mean of two":       {[]float64{4, 1, 2, 9}, Stat{3, 1, 9, 4}},
		"an outlier moves only a max": {[]float64{1, 2, 3, 4, 1000}, Stat{3, 1, 1000, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := NewStat(test.values); got != test.want {
				t.Errorf("NewStat(%v) = %+v, want %+v", test.values, got, test.want)
			}
		})
	}
}

func TestStatTakesOnlyWhatWasMeasured(t *testing.T) {
	t.Parallel()
	r := &Result{Samples: []Sample{
		{System: "a", Workload: "drain", Values: workload.Values{"per_s": 10}},
		{System: "a", Workload: "drain", Values: workload.Values{"per_s": 30}},
		{System: "a", Workload: "drain", Values: workload.Values{"per_s": 1}, Error: "cut off"},
		{System: "a", Workload: "send-1", Values: workload.Values{"per_s": 99}},
		{System: "b", Workload: "drain", Values: workload.Values{"per_s": 99}},
	}}
	if got, want := r.Stat("a", "drain", "per_s"), (Stat{20, 10, 30, 2}); got != want {
		t.Errorf("Stat = %+v, want %+v", got, want)
	}
	if got := r.Stat("a", "drain", "bytes"); got.Rounds != 0 {
		t.Errorf("a value nobody measured: %+v", got)
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
