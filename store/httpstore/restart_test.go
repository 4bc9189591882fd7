package httpstore_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

// fileServer is a server of a directory, which can be stopped and started again.
type fileServer struct {
	*testing.T
	dir, address string
	client       *dueq.Client
	server       *http.Server
	served       chan error
}

func (s *fileServer) start() (err error) {
	if s.client, err = dueq.Open(s.Context(), "file:"+s.dir, &dueq.Options{Logger: quiet()}); err != nil {
		return err
	}
	handler, err := dueqhttp.Handler(s.client, &dueqhttp.Options{Logger: quiet()})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(s.Context(), "tcp", s.address)
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	s.server = &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	s.served = make(chan error, 1)
	go func() { s.served <- s.server.Serve(listener) }()
	return nil
}

func (s *fileServer) stop() {
	s.Helper()
	if err := errors.Join(s.server.Close(), s.client.Close()); err != nil {
		s.Error(err)
	}
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		s.Error(err)
	}
}

// A consumer continues when its server is back, and settles what it held.
func TestConsume_ServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := &fileServer{T: t, dir: filepath.Join(t.TempDir(), "data"), address: "127.0.0.1:0"}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	client, err := dueq.Open(t.Context(), "http://"+s.address, &dueq.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	q := client.Queue("orders")
	for _, body := range []string{"before", "behind"} {
		if _, err := q.Send(t.Context(), dueq.Message{Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	var handled []string
	err = q.Consume(ctx, func(ctx context.Context, d *dueq.Delivery) error {
		if d.Attempt != 1 {
			t.Errorf("%s: attempt %d", d.Body, d.Attempt)
		}
		switch handled = append(handled, string(d.Body)); len(handled) {
		case 1: // the verdict of this one meets the new server
			s.stop()
			if err := s.start(); err != nil { //nolint:contextcheck // the server outlives the handler
				t.Error(err)
				end()
			}
		case 2:
			_, err := q.Send(ctx, dueq.Message{Body: []byte("after")})
			return err
		case 3:
			end()
		}
		return nil
	}, dueq.ConsumeOptions{Concurrency: 1})
	if err != nil || len(handled) != 3 {
		t.Errorf("handled %q, then %v", handled, err)
	}
	stats, err := q.Stats(t.Context())
	if err != nil || stats.Counters.Acked != 3 || stats.Counters.Delivered != 3 {
		t.Errorf("counters %+v, %v", stats.Counters, err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	s.stop()
}
