package dueq

import (
	"testing"
	"time"
)

func TestOfLatency_Levels(t *testing.T) {
	t.Parallel()
	for median, want := range map[time.Duration]FindingLevel{
		time.Millisecond: FindingOK, 20 * time.Millisecond: FindingOK, 21 * time.Millisecond: FindingWarn, 2 * time.Second: FindingFail,
	} {
		if f := ofLatency(median, median); f.Level != want || (want == FindingOK) != (f.Fix == "") {
			t.Errorf("%s: %+v, want %s", median, f, want)
		}
	}
}

func TestDescribe_AddsNoQueue(t *testing.T) {
	t.Parallel()
	client, err := NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := client.Describe(t.Context())
	if err != nil || d.Kind != "memory" || len(d.Findings) != 2 || d.Findings[1].Check != "latency" {
		t.Errorf("%+v, %v", d, err)
	}
	if all, err := client.Stats(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%d queues, %v", len(all), err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
}
