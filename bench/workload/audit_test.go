package workload

import (
	"testing"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
)

func TestAudit_CountsFaults(t *testing.T) {
	t.Parallel()
	a := newAudit(4)
	for _, d := range []driver.Done{
		{Seq: 0, Late: time.Millisecond},
		{Seq: 1, Late: -time.Microsecond}, // early
		{Seq: 1, Late: time.Second},       // and again
		{Seq: 2, Late: 3 * time.Millisecond},
	} {
		a.done(d)
	}
	v := a.values()
	if v["lost"] != 1 || v["twice"] != 1 || v["early"] != 1 {
		t.Errorf("values = %v, want one of each", v)
	}
	if n := len(a.lateness()); n != 3 {
		t.Errorf("lateness of %d messages, want of the first time of 3", n)
	}
	select {
	case <-a.half:
	default:
		t.Error("half have arrived, and no waiter was notified")
	}
}

func TestAudit_LatenessPercentiles(t *testing.T) {
	t.Parallel()
	a := newAudit(100)
	for i := range 100 {
		a.done(driver.Done{Seq: i, Late: time.Duration(99-i) * time.Millisecond})
	}
	v := lateness(a)
	if v["min_ms"] != 0 || v["p50_ms"] != 49 || v["p99_ms"] != 98 || v["max_ms"] != 99 {
		t.Errorf("lateness = %v", v)
	}
}
