package driver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// Done is a message whose handler is done.
type Done struct {
	Seq  int
	Late time.Duration // from due time to start of the handler; negative: early
	At   time.Time     // when the harness got the event
}

// Process is a running driver, seen from the harness. Calls are made one at a time.
type Process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies chan Reply
	reached chan time.Time
	ended   chan struct{} // closed when the process has ended and all its output has been read
	exit    error         // how it ended; read only after ended is closed
	stderr  tail

	mu   sync.Mutex
	done func(Done)
}

// Start runs the command as a driver. It calls done for each streamed message, one at a time; done may
// be nil. The caller ends the process with Quit or Kill.
func Start(command []string, dir string, done func(Done)) (*Process, error) {
	p := &Process{
		replies: make(chan Reply, 1), reached: make(chan time.Time, 1), ended: make(chan struct{}), done: done,
	}
	// Not CommandContext: the harness decides when to kill, and kills by pid.
	p.cmd = exec.Command(command[0], command[1:]...) //nolint:gosec,noctx // the harness's own commands
	p.cmd.Dir = dir
	p.cmd.Stderr = &p.stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in = in
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	return p, nil
}

// read passes on the lines of the driver until it ends, which closes the pipe.
func (p *Process) read(out io.Reader) {
	defer func() { p.exit = p.cmd.Wait(); close(p.ended) }()
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		var l Line
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			continue // a kill has cut the line off
		}
		switch {
		case l.Done != nil && p.done != nil:
			p.done(Done{Seq: int(l.Done[0]), Late: time.Duration(l.Done[1]) * time.Microsecond, At: time.Now()})
		case l.Reached != 0:
			p.reached <- time.UnixMicro(l.Reached)
		case l.Reply != nil:
			p.replies <- *l.Reply
		}
	}
}

// Call sends a request and waits for its reply. A reply with an error is an error.
func (p *Process) Call(ctx context.Context, r Request) (Reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := json.Marshal(r)
	if err != nil {
		return Reply{}, err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		return Reply{}, p.fail(r.Op, err)
	}
	select {
	case reply := <-p.replies:
		if reply.Error != "" {
			return reply, p.fail(r.Op, errors.New(reply.Error))
		}
		return reply, nil
	case <-p.ended:
		return Reply{}, p.fail(r.Op, errors.New("the driver has ended"))
	case <-ctx.Done():
		return Reply{}, p.fail(r.Op, context.Cause(ctx))
	}
}

// Reached waits until the expected number of messages has been handled.
func (p *Process) Reached(ctx context.Context) (time.Time, error) {
	select {
	case at := <-p.reached:
		return at, nil
	case <-p.ended:
		return time.Time{}, p.fail("consume", errors.New("the driver has ended"))
	case <-ctx.Done():
		return time.Time{}, p.fail("consume", context.Cause(ctx))
	}
}

// Quit ends the driver gracefully, or kills it if it has not ended when ctx ends.
func (p *Process) Quit(ctx context.Context) error {
	b, _ := json.Marshal(Request{Op: OpQuit})
	_, _ = p.in.Write(append(b, '\n')) // a driver may have ended already
	_ = p.in.Close()
	select {
	case <-p.ended:
		return p.exit
	case <-ctx.Done():
		return errors.Join(p.fail("quit", context.Cause(ctx)), p.Kill())
	}
}

// Kill ends the driver with SIGKILL, and returns when it has ended and all its output has been read.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	<-p.ended
	return nil
}

func (p *Process) fail(op string, err error) error {
	if text := p.stderr.String(); text != "" {
		return fmt.Errorf("%s: %w\nthe driver wrote: %s", op, err, text)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 2048

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if extra := len(t.buf) - tailSize; extra > 0 {
		t.buf = t.buf[extra:]
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
