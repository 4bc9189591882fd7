package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// client makes requests, and counts the bytes on its connections.
type client struct {
	url            string
	http           *http.Client
	transport      *http.Transport
	sent, received atomic.Int64
}

func newClient(url string, connections int) *client {
	c := &client{url: url}
	c.transport = &http.Transport{
		MaxIdleConns: 0, MaxIdleConnsPerHost: connections + 1, DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &counted{conn, c}, err
		},
	}
	c.http = &http.Client{Transport: c.transport}
	return c
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// counted is a connection whose bytes are counted.
type counted struct {
	net.Conn
	c *client
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.c.received.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.c.sent.Add(int64(n))
	return n, err
}

// post makes a request about the queue of the benchmark, and returns its answer.
func (c *client) post(ctx context.Context, verb string, body []byte) (status int, answer []byte, err error) {
	return c.do(ctx, http.MethodPost, "/"+verb, bytes.NewReader(body))
}

func (c *client) do(ctx context.Context, method, path string, body io.Reader) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+"/v1/queues/bench"+path, body)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// want makes a request, and returns an error unless the answer has a status.
func (c *client) want(ctx context.Context, status int, verb string, body []byte) error {
	got, answer, err := c.post(ctx, verb, body)
	if err == nil && got != status {
		err = fmt.Errorf("%s: status %d: %.300s", verb, got, answer)
	}
	return err
}

// delivery is what the clients need of a delivery.
type delivery struct {
	Receipt string    `json:"receipt"`
	Due     time.Time `json:"due"`
}

// receive receives up to most messages, none if nothing is due.
func (c *client) receive(ctx context.Context, most int, wait string) ([]delivery, error) {
	status, answer, err := c.post(ctx, "receive", fmt.Appendf(nil, `{"max":%d,"wait":%q,"lease":"1m"}`, most, wait))
	if err != nil || status == http.StatusNoContent {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("receive: status %d: %.300s", status, answer)
	}
	var found struct {
		Deliveries []delivery `json:"deliveries"`
	}
	err = json.Unmarshal(answer, &found)
	return found.Deliveries, err
}

// ack acks deliveries. Any other answer than that all are acked is an error.
func (c *client) ack(ctx context.Context, all []delivery) error {
	var body bytes.Buffer
	body.WriteString(`{"verdicts":[`)
	for i, d := range all {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"receipt":%q,"verdict":"ack"}`, d.Receipt)
	}
	body.WriteString(`]}`)
	return c.want(ctx, http.StatusOK, "settle", body.Bytes())
}
