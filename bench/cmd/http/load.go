package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	bodySize  = 100
	batchSize = 100
	wait      = "10s"
)

// message is a message of the benchmark, due at once.
func message() string { return `{"body":"` + strings.Repeat("b", bodySize) + `"}` }

// every runs do in each client until it returns false or fails, and returns how long each call of
// timed took.
func (b *bench) every(do func(timed func(func() error) error) (more bool, err error)) ([]time.Duration, error) {
	var all []time.Duration
	var failed error
	var mu sync.Mutex
	var running sync.WaitGroup
	for range b.clients {
		running.Go(func() {
			var took []time.Duration
			timed := func(call func() error) error {
				began := time.Now()
				err := call()
				took = append(took, time.Since(began))
				return err
			}
			more, err := true, error(nil)
			for more && err == nil {
				more, err = do(timed)
			}
			mu.Lock()
			defer mu.Unlock()
			all, failed = append(all, took...), errors.Join(failed, err)
		})
	}
	running.Wait()
	return all, failed
}

// batches sends, receives and acks messages in batches: each client repeats the three requests.
func (b *bench) batches(ctx context.Context) error {
	body := []byte(`{"messages":[` + strings.Repeat(message()+",", batchSize-1) + message() + `]}`)
	var sent, acked atomic.Int64
	m, err := b.begin()
	if err != nil {
		return err
	}
	took, err := b.every(func(timed func(func() error) error) (bool, error) {
		if sent.Add(batchSize) <= int64(b.messages) {
			if err := timed(func() error { return b.client.want(ctx, http.StatusCreated, "batch", body) }); err != nil {
				return false, err
			}
		}
		n, err := b.take(ctx, batchSize, timed)
		return acked.Add(int64(n)) < int64(b.messages), err
	})
	if err != nil {
		return err
	}
	if acked.Load() != int64(b.messages) {
		return fmt.Errorf("%d messages were acked, want %d", acked.Load(), b.messages)
	}
	return m.report("batches of 100, all three", b.messages, "message", took)
}

// take receives and acks up to most messages, and returns how many.
func (b *bench) take(ctx context.Context, most int, timed func(func() error) error) (int, error) {
	var found []delivery
	err := timed(func() (err error) { found, err = b.client.receive(ctx, most, "0s"); return err })
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return len(found), timed(func() error { return b.client.ack(ctx, found) })
}

// singles sends messages one by one, and then receives and acks them one by one.
func (b *bench) singles(ctx context.Context) error {
	body := []byte(message())
	var sent, acked atomic.Int64
	m, err := b.begin()
	if err != nil {
		return err
	}
	took, err := b.every(func(timed func(func() error) error) (bool, error) {
		if sent.Add(1) > int64(b.options.singles) {
			return false, nil
		}
		return true, timed(func() error { return b.client.want(ctx, http.StatusCreated, "messages", body) })
	})
	if err == nil {
		err = m.report("single sends", b.options.singles, "request", took)
	}
	if err != nil {
		return err
	}
	if m, err = b.begin(); err != nil {
		return err
	}
	took, err = b.every(func(timed func(func() error) error) (bool, error) {
		n, err := b.take(ctx, 1, timed)
		return acked.Add(int64(n)) < int64(b.options.singles), err
	})
	if err != nil {
		return err
	}
	if acked.Load() != int64(b.options.singles) {
		return fmt.Errorf("%d messages were acked, want %d", acked.Load(), b.options.singles)
	}
	return m.report("single receives and acks", len(took), "request", took)
}

// longPolls sends messages that are due one by one within 10 s, while every client waits for them.
// Reported is the time from the due time until a client has the message.
func (b *bench) longPolls(ctx context.Context) error {
	const count, span, lead = 5000, 10 * time.Second, 2 * time.Second
	var messages strings.Builder
	first := time.Now().Add(lead)
	for i := range count {
		fmt.Fprintf(&messages, `,{"due":%q,"body":"x"}`, first.Add(span*time.Duration(i)/count).UTC().Format(time.RFC3339Nano))
	}
	if err := b.client.want(ctx, http.StatusCreated, "batch", []byte(`{"messages":[`+messages.String()[1:]+`]}`)); err != nil {
		return err
	}
	m, err := b.begin()
	if err != nil {
		return err
	}
	var received atomic.Int64
	var mu sync.Mutex
	var late []time.Duration
	_, err = b.every(func(func(func() error) error) (bool, error) {
		found, err := b.client.receive(ctx, 1, "2s")
		if err != nil || len(found) == 0 {
			return received.Load() < count, err
		}
		mu.Lock()
		late = append(late, time.Since(found[0].Due))
		mu.Unlock()
		return received.Add(1) < count, b.client.ack(ctx, found)
	})
	if err != nil {
		return err
	}
	return m.report("long polls, after due", count, "message", late)
}
