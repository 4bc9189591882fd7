package dueq_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// While one master of a Cluster hangs, a process that starts can use the queues on the others.
func TestOpen_OneMasterOfAClusterHangs(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.Addr())
	}
	rdb := redistest.ClusterClient(t, nodes)
	home := func(key string) string {
		master, err := rdb.MasterForKey(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		return master.Options().Addr
	}
	// The master that has the names of all queues is needed to make queues, not to use them.
	hanging := home("dueq:queues")
	name := ""
	for i := 0; name == ""; i++ {
		q := fmt.Sprint("q", i)
		if home("dueq:{"+q+"}:meta") != hanging && home("dueq:{"+q+":0}:side") != hanging {
			name = q
		}
	}
	connect := func() *dueq.Queue {
		client, err := dueq.Open(ctx, "redis+cluster://"+strings.Join(hosts, ","), &dueq.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client.Queue(name)
	}
	if err := connect().Create(ctx, dueq.Settings{}); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.Addr() == hanging {
			if err := n.Freeze(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = n.Thaw() })
		}
	}
	const messages = 20
	sender := connect()
	for range messages {
		if _, err := sender.Send(ctx, dueq.Message{}); err != nil {
			t.Fatal(err)
		}
	}
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	handled := 0
	err := connect().Consume(consuming, func(context.Context, *dueq.Delivery) error {
		if handled++; handled == messages {
			stop()
		}
		return nil
	}, dueq.ConsumeOptions{Concurrency: 1})
	if err != nil || handled != messages {
		t.Errorf("handled %d of %d, %v", handled, messages, err)
	}
}
