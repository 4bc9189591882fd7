package driver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/peer"
	"github.com/dueq-dev/dueq/bench/system"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conversation is the harness's end of a driver that runs in this process.
type conversation struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
	done  []driver.Line
}

// talk starts a driver of the timing wheel, which needs no server.
func talk(t *testing.T) *conversation {
	t.Helper()
	q, err := system.Wheel().Open(t.Context(), peer.Env{})
	if err != nil {
		t.Fatal(err)
	}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	ended := make(chan error, 1)
	ctx := context.WithoutCancel(t.Context())
	go func() { ended <- driver.Serve(ctx, q, inRead, outWrite) }()
	c := &conversation{t: t, in: inWrite, lines: bufio.NewScanner(outRead)}
	t.Cleanup(func() {
		_ = inWrite.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

// ask sends a request and returns its reply; it keeps the events before the reply.
func (c *conversation) ask(r driver.Request) driver.Reply {
	c.t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(b, '\n')); err != nil {
		c.t.Fatal(err)
	}
	for {
		if l := c.next(); l.Reply != nil {
			return *l.Reply
		}
	}
}

func (c *conversation) next() driver.Line {
	c.t.Helper()
	if !c.lines.Scan() {
		c.t.Fatal("the driver has ended")
	}
	var l driver.Line
	if err := json.Unmarshal(c.lines.Bytes(), &l); err != nil {
		c.t.Fatalf("%s: %v", c.lines.Text(), err)
	}
	if l.Done != nil {
		c.done = append(c.done, l)
	}
	return l
}

func TestDriver_ReportsEachMessage(t *testing.T) {
	t.Parallel()
	c := talk(t)
	load := peer.Load{Count: 50, Producers: 4, Batch: 7, BodySize: 60, DueMs: time.Now().UnixMilli()}
	if r := c.ask(driver.Request{Op: driver.OpSend, Load: load}); r.Sent != 50 || r.Error != "" {
		t.Fatalf("send: %+v", r)
	}
	if r := c.ask(driver.Request{Op: driver.OpSize}); r.Size != 50 {
		t.Errorf("size: %+v, want 50", r)
	}
	c.ask(driver.Request{Op: driver.OpConsume, Consume: driver.Consume{Concurrency: 3, Expect: 50, Stream: true}})
	for c.next().Reached == 0 {
	}
	seen := map[int64]bool{}
	for _, l := range c.done {
		seen[l.Done[0]] = true
		if l.Done[1] < 0 {
			t.Errorf("message %d was %d us early", l.Done[0], -l.Done[1])
		}
	}
	if len(seen) != 50 {
		t.Errorf("heard of %d messages, want 50", len(seen))
	}
	if r := c.ask(driver.Request{Op: driver.OpStop}); r.Error != "" {
		t.Errorf("stop: %+v", r)
	}
}

func TestDriver_InvalidRequestGetsAnError(t *testing.T) {
	t.Parallel()
	if r := talk(t).ask(driver.Request{Op: "dance"}); r.Error == "" {
		t.Error("no error")
	}
}
