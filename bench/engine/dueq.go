package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store/embedded"
)

// onDueq is dueq as users use it: the library on its embedded engine.
type onDueq struct {
	client *dueq.Client
	queue  *dueq.Queue
}

func openDueq(ctx context.Context, dir string) (Engine, error) {
	s, err := embedded.Open(ctx, dir, embedded.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	client, err := dueq.New(s, &dueq.Options{Logger: slog.New(slog.DiscardHandler)}) //nolint:contextcheck // the client lives longer than this call
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &onDueq{client: client, queue: client.Queue("bench")}, nil
}

// Send implements Engine.
func (e *onDueq) Send(ctx context.Context, bodies [][]byte, later bool) error {
	messages := make([]dueq.Message, len(bodies))
	for i := range bodies {
		messages[i].Body = bodies[i]
		if later {
			messages[i].Delay = time.Hour
		}
	}
	if len(messages) == 1 {
		_, err := e.queue.Send(ctx, messages[0])
		return err
	}
	results, err := e.queue.SendBatch(ctx, messages)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return err
}

// Take implements Engine.
func (e *onDueq) Take(ctx context.Context) error {
	got, err := e.queue.Receive(ctx, dueq.ReceiveOptions{})
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return errNothingDue
	}
	return got[0].Ack(ctx)
}

// Close implements Engine.
func (e *onDueq) Close() error { return e.client.Close() }

// errNothingDue is what Take returns when the workload asks for more than it sent.
var errNothingDue = errors.New("nothing is due")
