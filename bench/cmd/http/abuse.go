package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const mib = 1 << 20

// address returns the host and port of the server.
func (b *bench) address() string { return strings.TrimPrefix(b.server.url, "http://") }

// dial opens n connections, and writes a text to each.
func (b *bench) dial(ctx context.Context, n int, text string) (all []net.Conn, err error) {
	for range n {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.address())
		if err != nil {
			return all, err
		}
		all = append(all, conn)
		if _, err := conn.Write([]byte(text)); err != nil {
			return all, err
		}
	}
	return all, nil
}

func closeAll(all []net.Conn) {
	for _, conn := range all {
		_ = conn.Close()
	}
}

// slowCallers measures single sends, 200 a second, while other connections send a byte a second.
func (b *bench) slowCallers(ctx context.Context) error {
	slow, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	for range b.slow {
		running.Go(func() { b.drip(slow) })
	}
	m, err := b.begin()
	if err != nil {
		return err
	}
	const requests, every = 3000, 5 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	var took []time.Duration
	for range requests {
		<-tick.C
		began := time.Now()
		if err := b.client.want(ctx, http.StatusCreated, "messages", []byte(message())); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	return m.report(fmt.Sprintf("beside %d slow callers", b.slow), requests, "request", took)
}

// drip sends a request at a byte a second, and connects again whenever the server has hung up.
func (b *bench) drip(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	request := []byte("POST /v1/queues/bench/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	for ctx.Err() == nil {
		conns, err := b.dial(ctx, 1, "P")
		for at := 1; err == nil && at < len(request); at++ {
			select {
			case <-tick.C:
				_, err = conns[0].Write(request[at : at+1])
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		closeAll(conns)
	}
}

// spaces is a body without an end.
type spaces struct{ sent int64 }

func (s *spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	s.sent += int64(len(p))
	return len(p), nil
}

// largeBodies sends bodies of 1 GiB, with and without their length, from 8 clients at a time.
func (b *bench) largeBodies(ctx context.Context) error {
	const size, callers = 1 << 30, 8
	before, _, err := b.server.memory()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	results := make(chan error, 2*callers)
	for i := range 2 * callers {
		running.Go(func() { results <- b.large(ctx, size, i%2 == 0) })
	}
	running.Wait()
	close(results)
	for err := range results {
		if err != nil {
			return err
		}
	}
	_, most, err := b.server.memory()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(b.out, "%-28s %d bodies of 1 GiB at a time: 413 each; resident memory %d MiB before, %d MiB at the highest\n", "large bodies", 2*callers, before/mib, most/mib)
	return err
}

// large sends a body, and returns an error unless it is refused.
func (b *bench) large(ctx context.Context, size int64, declared bool) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.client.url+"/v1/queues/bench/messages", io.LimitReader(&spaces{}, size))
	if err != nil {
		return err
	}
	if declared {
		r.ContentLength = size
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := b.client.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		return fmt.Errorf("status %d, want 413", response.StatusCode)
	}
	return nil
}

// idlePolls measures the memory of a server with many requests that wait for messages.
func (b *bench) idlePolls(ctx context.Context) error {
	before, _, err := b.server.memory()
	if err != nil {
		return err
	}
	if err := b.client.want(ctx, http.StatusCreated, "messages", []byte(`{"delay":"1h"}`)); err != nil {
		return err
	}
	body := `{"wait":"60s"}`
	request := fmt.Sprintf("POST /v1/queues/bench/receive HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	began := time.Now()
	conns, err := b.dial(ctx, b.polls, request)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	dialed := time.Since(began)
	const settle = 5 * time.Second // the last of them are being read, and the collector has a turn
	if err := pause(ctx, settle); err != nil {
		return err
	}
	m, err := b.begin()
	if err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	cpu, err := b.server.cpu()
	if err != nil {
		return err
	}
	now, most, err := b.server.memory()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(b.out, "%-28s %d, connected within %.1f s: resident memory %d MiB before, %d MiB now, %d MiB at the highest; CPU %.1f %% while they wait\n",
		"idle long polls", b.polls, dialed.Seconds(), before/mib, now/mib, most/mib, 100*(cpu-m.cpu).Seconds()/settle.Seconds())
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
