package bench

import (
	"encoding/json"
	"math"
	"testing"
)

func TestFigure_SignificantDigits(t *testing.T) {
	t.Parallel()
	for f, want := range map[Figure]string{
		0: "0", 123456.7: "123457", 12.3456: "12.35", 0.123456: "0.1235", 0.0000123456: "0.00001235", -3.14159: "-3.142", 1: "1",
		Figure(math.Inf(1)): "null",
	} {
		got, err := json.Marshal(f)
		if err != nil || string(got) != want {
			t.Errorf("%v is %s, %v, want %s", float64(f), got, err, want)
		}
	}
	if got, err := json.Marshal(unknown()); err != nil || string(got) != "null" || unknown().String() != "-" {
		t.Errorf("unknown is %s, %v and %s for people", got, err, unknown())
	}
}

func TestReport_MedianOfEachFigure(t *testing.T) {
	t.Parallel()
	var s Series
	for _, l := range []Load{{PerS: 3, StoreCPU: 10}, {PerS: 1, StoreCPU: 30}, {PerS: 2, StoreCPU: 20}} {
		l.Sent = unknown()
		s.add(l)
	}
	if s.PerS != 2 || s.StoreCPU != 20 || s.Sent.known() || len(s.Rounds) != 3 {
		t.Errorf("series is %+v", s)
	}
}
