package migrate

import (
	"context"
	"errors"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/migrate"
)

// failing is a delay that is longer than the test: a task waits for its retry.
const failing = 3 * time.Hour

// TestAsynq_MessagesOfTheRealLibrary has asynq write tasks in all states.
func TestAsynq_MessagesOfTheRealLibrary(t *testing.T) {
	t.Parallel()
	socket, rdb := sourceRedis(t)
	opt := asynq.RedisClientOpt{Network: "unix", Addr: socket}
	client := asynq.NewClient(opt)
	t.Cleanup(func() { _ = client.Close() })
	enqueue := func(kind, body string, options ...asynq.Option) {
		t.Helper()
		if _, err := client.Enqueue(asynq.NewTask(kind, []byte(body)), options...); err != nil {
			t.Fatal(err)
		}
	}
	enqueue("retried", "retried", asynq.MaxRetry(4))
	enqueue("archived", "archived", asynq.MaxRetry(0))
	enqueue("done", "done", asynq.Retention(time.Hour))
	failOnce(t, opt)
	due := time.Now().Add(48 * time.Hour)
	enqueue("email:welcome", "scheduled", asynq.ProcessAt(due), asynq.TaskID("order-42"), asynq.Deadline(due.Add(time.Hour)))
	task := asynq.NewTaskWithHeaders("email:welcome", []byte("pending"), map[string]string{"tenant": "seven", "trace": "é"})
	if _, err := client.Enqueue(task, asynq.MaxRetry(7), asynq.Timeout(time.Minute), asynq.Unique(time.Hour)); err != nil {
		t.Fatal(err)
	}
	enqueue("empty", "")
	enqueue("grouped", "grouped", asynq.Group("g"))
	record(t, rdb, "asynq", asynqVersion(t))

	q, same := destination(t), unchanged(t, rdb)
	c := migrate.Config{Kind: "asynq", From: "unix://" + socket, Name: "default", To: q}
	states := []migrate.State{
		{State: "scheduled", Source: 1, Copied: 1},
		{State: "retry", Source: 1, Copied: 1},
		{State: "pending", Source: 2, Copied: 2},
		{State: "aggregating", Source: 1, Skipped: 1},
		{State: "archived", Source: 1, Skipped: 1},
		{State: "completed", Source: 1, Skipped: 1},
	}
	copyTwice(t, c, 4, map[string]int{"deadline": 1, "timeout": 1, "unique lock": 1}, states)
	same()

	all := copies(t, q)
	scheduled, retried, pending := all["scheduled"], all["retried"], all["pending"]
	near(t, &scheduled, due)
	near(t, &retried, time.Now().Add(failing))
	if scheduled.MaxAttempts != 26 || retried.MaxAttempts != 4 || pending.MaxAttempts != 8 {
		t.Errorf("%d, %d, %d attempts, want 26, 4, 8", scheduled.MaxAttempts, retried.MaxAttempts, pending.MaxAttempts)
	}
	if pending.State != dueq.Ready || all[""].Headers[migrate.HeaderType] != "empty" {
		t.Errorf("the pending tasks are %+v and %+v", pending, all[""])
	}
	headers := map[string]string{"tenant": "seven", "trace": "é", migrate.HeaderType: "email:welcome", migrate.HeaderFrom: pending.Headers[migrate.HeaderFrom]}
	if !maps.Equal(pending.Headers, headers) || scheduled.Headers[migrate.HeaderFrom] != "asynq:default:order-42" {
		t.Errorf("headers %v, want %v; %v", pending.Headers, headers, scheduled.Headers)
	}
}

func asynqVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "github.com/hibiken/asynq").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
}

// failOnce runs a server until it has done what is pending: "done" well, and the others not.
func failOnce(t *testing.T, opt asynq.RedisClientOpt) {
	t.Helper()
	handled := make(chan struct{}, 3)
	server := asynq.NewServer(opt, asynq.Config{
		Concurrency: 1, LogLevel: asynq.FatalLevel,
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return failing },
	})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		handled <- struct{}{}
		if task.Type() == "done" {
			return nil
		}
		return errors.New("it fails")
	}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-handled
	}
	server.Shutdown() // when the last result is stored
}

// TestAsynq_ProducersGoOnWhileItIsFollowed counts what was sent meanwhile.
func TestAsynq_ProducersGoOnWhileItIsFollowed(t *testing.T) {
	t.Parallel()
	socket, _ := sourceRedis(t)
	client := asynq.NewClient(asynq.RedisClientOpt{Network: "unix", Addr: socket})
	t.Cleanup(func() { _ = client.Close() })
	const before, meanwhile = 1500, 300
	enqueue := func() {
		if _, err := client.Enqueue(asynq.NewTask("t", nil), asynq.ProcessIn(time.Hour)); err != nil {
			t.Error(err)
		}
	}
	for range before {
		enqueue()
	}
	ctx, stop := context.WithCancel(t.Context())
	looks, sent := make(chan migrate.Result, 1000), make(chan struct{})
	go func() {
		defer close(sent)
		for range meanwhile {
			enqueue()
		}
	}()
	go func() {
		<-sent
		<-looks
		stop()
	}()
	r, err := migrate.Run(ctx, migrate.Config{
		Kind: "asynq", From: "unix://" + socket, Name: "default", To: destination(t), Follow: true, Interval: time.Millisecond,
		Looked: func(r migrate.Result) { looks <- r },
	})
	if err != nil {
		t.Fatal(err)
	}
	want(t, r, before+meanwhile, migrate.State{State: "scheduled", Source: before + meanwhile, Copied: before + meanwhile})
}
