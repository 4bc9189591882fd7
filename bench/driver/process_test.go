package driver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
)

// When a driver dies, the call fails with the driver's output; the harness does not wait forever.
func TestCall_FailsWhenTheDriverExits(t *testing.T) {
	t.Parallel()
	p, err := driver.Start([]string{"sh", "-c", "read line; echo no such queue >&2"}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Call(t.Context(), driver.Request{Op: driver.OpSize})
	if err == nil || !strings.Contains(err.Error(), "no such queue") {
		t.Errorf("Call = %v, want what the driver wrote", err)
	}
	_ = p.Quit(t.Context()) // it has ended; this waits for it
}

func TestKill_OutputIsReadToTheEnd(t *testing.T) {
	t.Parallel()
	heard := make(chan driver.Done, 3)
	script := `echo '{"d":[7,-5]}'; echo '{"d":[8,2000]}'; printf '{"d":[9'; exec sleep 60` // the kill cuts this line off
	p, err := driver.Start([]string{"sh", "-c", script}, "", func(d driver.Done) { heard <- d })
	if err != nil {
		t.Fatal(err)
	}
	first, second := <-heard, <-heard
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if first.Seq != 7 || first.Late != -5*time.Microsecond || second.Seq != 8 || second.Late != 2*time.Millisecond {
		t.Errorf("heard %+v, %+v", first, second)
	}
	if len(heard) != 0 {
		t.Errorf("heard of a message that the driver never finished telling of: %+v", <-heard)
	}
	if _, err := p.Call(t.Context(), driver.Request{Op: driver.OpSize}); err == nil {
		t.Error("a killed driver has answered")
	}
}
