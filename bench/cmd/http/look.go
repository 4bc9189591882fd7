package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// looks measures what it costs to look at a large queue: most of its messages are due within ten
// days, one in a hundred is due now. Requests come one after the other.
func (b *bench) looks(ctx context.Context) error {
	if err := b.fill(ctx); err != nil {
		return err
	}
	far, err := b.cursorAfter(ctx, b.messages/2)
	if err != nil {
		return err
	}
	for _, look := range []struct{ name, path string }{
		{"sizes", ""},
		{"forecast, 60 min", "/forecast"},
		{"forecast, 100 x 2h24m", "/forecast?step=2h24m&spans=100"},
		{"first page of 100", "/messages?state=scheduled&limit=100"},
		{"page of 100 in the middle", "/messages?state=scheduled&limit=100&cursor=" + far},
		{"page of 1000 in the middle", "/messages?state=scheduled&limit=1000&cursor=" + far},
		{"filter that nothing matches", "/messages?state=scheduled&limit=100&key=none-*"},
		{"filter of due times, middle", "/messages?state=scheduled&limit=100&due=119h..121h"},
		{"message by key", "/messages/key:k" + fmt.Sprint(b.messages/2)},
	} {
		m, err := b.begin()
		if err != nil {
			return err
		}
		var took []time.Duration
		for range b.options.looks {
			began := time.Now()
			if err := b.client.get(ctx, look.path, nil); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		if err := m.report(look.name, len(took), "request", took); err != nil {
			return err
		}
	}
	return nil
}

// fill sends the messages.
func (b *bench) fill(ctx context.Context) error {
	const span, share = 10 * 24 * time.Hour, 100
	first := time.Now().UTC()
	for at := 0; at < b.messages; at += 1000 {
		var messages strings.Builder
		for i := at; i < min(at+1000, b.messages); i++ {
			due := first
			if i%share != 0 {
				due = first.Add(span / time.Duration(b.messages) * time.Duration(i))
			}
			fmt.Fprintf(&messages, `,{"key":"k%d","due":%q,"body":%q}`, i, due.Format(time.RFC3339Nano), strings.Repeat("b", bodySize))
		}
		if err := b.client.want(ctx, http.StatusCreated, "batch", []byte(`{"messages":[`+messages.String()[1:]+`]}`)); err != nil {
			return err
		}
	}
	return nil
}

// cursorAfter reads pages until n messages have been read.
func (b *bench) cursorAfter(ctx context.Context, n int) (string, error) {
	const limit = 1000
	next := ""
	for read := 0; read < n; read += limit {
		var page struct {
			Next string `json:"next"`
		}
		if err := b.client.get(ctx, fmt.Sprintf("/messages?state=scheduled&limit=%d&cursor=%s", limit, next), &page); err != nil {
			return "", err
		}
		if next = page.Next; next == "" {
			return "", fmt.Errorf("the list ends after %d of %d messages", read+limit, b.messages)
		}
	}
	return next, nil
}

// get makes a request about the queue of the benchmark, and decodes its answer, unless into is nil.
func (c *client) get(ctx context.Context, path string, into any) error {
	status, answer, err := c.do(ctx, http.MethodGet, path, http.NoBody)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %.300s", path, status, answer)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}
