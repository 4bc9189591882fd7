package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// onPort is dueq's embedded engine without the library, for a comparison with databases.
type onPort struct {
	store     *embedded.Store
	partition store.Partition
	callers   chan *caller // idle ones
	made      atomic.Int64
}

// caller is a producer and consumer with one call in flight at a time.
type caller struct {
	name   string
	number uint64
}

func openPort(ctx context.Context, dir string) (Engine, error) {
	s, err := embedded.Open(ctx, dir, embedded.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return &onPort{store: s, partition: store.Partition{Queue: "bench"}, callers: make(chan *caller, 1000)}, nil
}

func (e *onPort) borrow() *caller {
	select {
	case c := <-e.callers:
		c.number++
		return c
	default:
		return &caller{name: "bench-" + strconv.FormatInt(e.made.Add(1), 10), number: 1}
	}
}

// Send implements Engine.
func (e *onPort) Send(ctx context.Context, bodies [][]byte, later bool) error {
	messages := make([]store.Message, len(bodies))
	for i := range bodies {
		id := store.ID(uuid.Must(uuid.NewV7()))
		id[14], id[15] = 0, 0 // the partition
		messages[i] = store.Message{ID: id, Body: bodies[i], MaxAttempts: 20}
		if later {
			messages[i].Delay = time.Hour.Milliseconds()
		}
	}
	c := e.borrow()
	defer func() { e.callers <- c }()
	results, err := e.store.Push(ctx, e.partition, store.PushRequest{Producer: c.name, Number: c.number, Messages: messages})
	for _, r := range results {
		if r.Code != store.CodeOK {
			err = errors.Join(err, fmt.Errorf("push: %s", r.Code))
		}
	}
	return err
}

// Take implements Engine.
func (e *onPort) Take(ctx context.Context) error {
	c := e.borrow()
	defer func() { e.callers <- c }()
	got, err := e.store.Claim(ctx, e.partition, store.ClaimRequest{
		Consumer: c.name, Number: c.number, Max: 1, Lease: time.Minute.Milliseconds(),
	})
	if err != nil {
		return err
	}
	if len(got.Deliveries) == 0 {
		return errNothingDue
	}
	codes, err := e.store.Settle(ctx, e.partition, store.SettleRequest{
		Verdict: store.Ack, Items: []store.Settlement{{Receipt: got.Deliveries[0].Receipt}},
	})
	if err == nil && codes[0] != store.CodeOK {
		err = fmt.Errorf("ack: %s", codes[0])
	}
	return err
}

// Close implements Engine.
func (e *onPort) Close() error { return e.store.Close() }
