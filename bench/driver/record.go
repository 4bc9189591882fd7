package driver

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/bench/peer"
)

// recorder is the handler: it works for the requested time, then reports the message.
type recorder struct {
	lines *lineWriter
	want  Consume
	count atomic.Int64
}

func (r *recorder) handle(_ context.Context, body []byte) error {
	if r.want.Stream {
		return r.handleAndTell(body)
	}
	r.work()
	return r.counted()
}

func (r *recorder) handleAndTell(body []byte) error {
	start := time.Now()
	seq, due, err := peer.ParseBody(body)
	if err != nil {
		return err
	}
	r.work()
	if err := r.lines.done(seq, start.Sub(due)); err != nil {
		return err
	}
	return r.counted()
}

// work waits, as handlers of delayed messages usually do. It does not end with the context.
func (r *recorder) work() {
	if r.want.WorkMs > 0 {
		<-time.After(time.Duration(r.want.WorkMs) * time.Millisecond)
	}
}

func (r *recorder) counted() error {
	if r.count.Add(1) == int64(r.want.Expect) {
		return r.lines.reached(time.Now())
	}
	return nil
}

// lineWriter writes whole lines, each with one system call and no buffer.
type lineWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lineWriter) done(seq int, late time.Duration) error {
	b := make([]byte, 0, 48)
	b = append(b, `{"d":[`...)
	b = strconv.AppendInt(b, int64(seq), 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, late.Microseconds(), 10)
	return w.write(append(b, "]}\n"...))
}

func (w *lineWriter) reached(at time.Time) error {
	return w.encode(Line{Reached: at.UnixMicro()})
}

func (w *lineWriter) reply(r Reply) error { return w.encode(Line{Reply: &r}) }

func (w *lineWriter) encode(l Line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return w.write(append(b, '\n'))
}

func (w *lineWriter) write(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(b)
	return err
}
