package dueq_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store/embedded"
)

func TestOpen_BadURLsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, url, want string }{
		{"nothing", "", "has no scheme"},
		{"no scheme", "localhost", "has no scheme"},
		{"host and port", "localhost:6379", `"localhost" is none of file, mem, redis`},
		{"unknown scheme", "amqp://u:secret@host", `"amqp" is none of file, mem, redis`},
		{"something after mem", "mem://host", "nothing may follow"},
		{"no directory", "file:", "want a directory"},
		{"no directory but a query", "file:?sync=never", "want a directory"},
		{"directory of a host", "file://host/data", "names a host"},
		{"bad sync", "file:./data?sync=sometimes", "none of always, never"},
		{"sync of no time", "file:./data?sync=0s", "none of always, never"},
		{"unknown parameter of a directory", "file:./data?colour=red", "none of sync, repair"},
		{"server without a host", "http:///path", "want a host"},
		{"token in front of the colon", "https://secret@host", "want the token behind a colon"},
		{"option of a server", "https://:secret@host?db=1", `"db" is none of ca, cert, key`},
		{"socket without a path", "http+unix:", "want the path of a socket"},
		{"one slash", "redis:/host", "want // after the scheme"},
		{"bad port", "redis://u:secret@host:port", "cannot be read"},
		{"bad escape", "redis://u:sec%ret@host", "cannot be read"},
		{"slash in the password", "redis://u:sec/secret@host:6379", "cannot be read"},
		{"bad query", "redis://host/?secret=%zz", "query cannot be read"},
		{"bad database", "redis://u:secret@host/one", "invalid database number"},
		{"unknown parameter", "redis://u:secret@host/0?colour=red", "unexpected option: colour"},
		{"bad parameter", "redis://u:secret@host/0?pool_size=secret", "pool_size"},
		{"two hosts", "redis://u:secret@host1,host2", "several hosts"},
		{"no master", "redis+sentinel://u:secret@host1,host2", "name of the master"},
		{"a database of a cluster", "redis+cluster://u:secret@host1,host2/1", "no database numbers"},
		{"bad prefix", "redis://u:secret@host/?prefix={x}", "prefix"},
		{"negative replicas", "redis://u:secret@host/?replicas=-1", "is not a count"},
		{"bad replica timeout", "redis://u:secret@host/?replica_timeout=1h1", "is not a span"},
		{"bad send timeout", "redis://u:secret@host/?send_timeout=0s", "is not a span"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client, err := dueq.Open(t.Context(), test.url, &dueq.Options{Logger: slog.New(slog.DiscardHandler)})
			if client != nil || !errors.Is(err, dueq.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v, want ErrInvalid with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error contains the password: %v", err)
			}
		})
	}
}

func TestOpen_ServerThatDoesNotAnswerIsReported(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"redis://u:secret@127.0.0.1:1/0", "redis+sentinel://:secret@127.0.0.1:1,127.0.0.1:2/master/1?prefix=x&tls=false",
		"redis+cluster://127.0.0.1:1,127.0.0.1:2?replicas=1&replica_timeout=1s", "unix:///nowhere.sock",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		client, err := dueq.Open(ctx, url, &dueq.Options{Logger: slog.New(slog.DiscardHandler)})
		cancel()
		if client != nil || !errors.Is(err, dueq.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want ErrUnavailable or the error of ctx", url, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

func TestOpen_Memory(t *testing.T) {
	t.Parallel()
	client, err := dueq.Open(t.Context(), "mem:", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Queue("work").Send(t.Context(), dueq.Message{}); err != nil {
		t.Error(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}

func TestConstructors_BadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	s := embedded.NewMemory(embedded.Config{})
	t.Cleanup(func() { _ = s.Close() })
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	for field, o := range map[string]*dueq.Options{
		"replicas": {Replicas: -1}, "replica timeout": {ReplicaTimeout: -1}, "send timeout": {SendTimeout: -1},
		"name": {Name: "a b"},
	} {
		_, err := dueq.Open(t.Context(), "mem:", o)
		wantInvalid(t, err, field)
		_, err = dueq.NewMemory(o)
		wantInvalid(t, err, field)
		_, err = dueq.NewRedis(rdb, o)
		wantInvalid(t, err, field)
		_, err = dueq.New(s, o)
		wantInvalid(t, err, field)
	}
	_, err := dueq.NewRedis(rdb, &dueq.Options{Prefix: "a b"})
	wantInvalid(t, err, "prefix")
	_, err = dueq.NewRedis(nil, nil)
	wantInvalid(t, err, "redis client")
	_, err = dueq.New(nil, nil)
	wantInvalid(t, err, "store")
}
