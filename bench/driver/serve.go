package driver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/dueq-dev/dueq/bench/peer"
	"github.com/dueq-dev/dueq/internal/measure"
)

// Serve executes the requests from in on q until in ends or a request is quit. It is the main loop of
// a driver process.
func Serve(ctx context.Context, q peer.Queue, in io.Reader, out io.Writer) error {
	s := &server{queue: q, lines: &lineWriter{out: out}}
	scan := bufio.NewScanner(in)
	for scan.Scan() {
		var r Request
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil {
			return err
		}
		if r.Op == OpQuit {
			break
		}
		reply, err := s.do(ctx, r)
		if err != nil {
			reply.Error = err.Error()
		}
		if err := s.lines.reply(reply); err != nil {
			return err
		}
	}
	return errors.Join(s.stop(), scan.Err())
}

type server struct {
	queue   peer.Queue
	lines   *lineWriter
	end     context.CancelFunc // of the running consumer, if there is one
	stopped chan error
}

func (s *server) do(ctx context.Context, r Request) (Reply, error) {
	switch r.Op {
	case OpSend:
		return send(ctx, s.queue, r.Load)
	case OpConsume:
		return Reply{}, s.consume(ctx, r.Consume)
	case OpStop:
		return Reply{}, s.stop()
	case OpSize:
		n, err := s.queue.Size(ctx)
		return Reply{Size: n}, err
	case OpCPU:
		cpu, err := measure.CPU()
		return Reply{CPUUs: cpu.Microseconds()}, err
	case OpHeap:
		return Reply{Heap: measure.Heap()}, nil
	default:
		return Reply{}, errors.New("unknown op " + r.Op)
	}
}

func (s *server) consume(ctx context.Context, c Consume) error {
	if s.end != nil {
		return errors.New("already consuming")
	}
	ctx, s.end = context.WithCancel(ctx)
	s.stopped = make(chan error, 1)
	listening := make(chan struct{}, 1)
	consumer := peer.Consumer{
		Concurrency: c.Concurrency, Index: c.Index, Of: max(c.Of, 1),
		Listening: func() { listening <- struct{}{} },
	}
	h := (&recorder{lines: s.lines, want: c}).handle
	go func() { s.stopped <- s.queue.Consume(ctx, consumer, h) }()
	select {
	case <-listening:
		return nil
	case err := <-s.stopped:
		s.end = nil
		return errors.Join(errors.New("consumer ended at once"), err)
	}
}

func (s *server) stop() error {
	if s.end == nil {
		return nil
	}
	s.end()
	s.end = nil
	return <-s.stopped
}
