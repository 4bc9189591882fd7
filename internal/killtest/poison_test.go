package killtest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

// Roles of processes that consume until nothing is left.
const (
	roleDrainer = "drainer"
	roleExiter  = "exiter" // its handler of a message "poison" ends the process
	roleHoarder = "hoarder"
)

const (
	poisoned    = 3 // the exit code of a process that a message ended
	poisonLease = 2 * time.Second
)

// drain consumes until nothing is left.
func drain(ctx context.Context, q *dueq.Queue, handle dueq.Handler, concurrency int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		done <- q.Consume(ctx, handle, dueq.ConsumeOptions{Concurrency: concurrency, Lease: poisonLease})
	}()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		s, err := q.Stats(ctx)
		if err == nil && s.Scheduled+s.Ready+s.Leased == 0 {
			stop()
			return <-done
		}
		select {
		case err := <-done:
			return errors.Join(err, errors.New("the consumer has ended"))
		case <-ticker.C:
		}
	}
}

// exitOnPoison takes 10 ms for a message, and ends the process on the poison.
func exitOnPoison(ctx context.Context, d *dueq.Delivery) error {
	if err := until(ctx, time.Now().Add(10*time.Millisecond)); err != nil {
		return err
	}
	if string(d.Body) == "poison" {
		os.Exit(poisoned)
	}
	return nil
}

// hoard kills its process once many messages are leased, all but one of them unstarted. It kills it
// after a while in any case, because messages that wait for a worker are released soon. A send to
// another queue returns when the acks before it are on disk; those that Stats counts may not be. On
// a busy machine a consumer may never have many unstarted messages: half-way through, a few are enough.
func hoard(q, other *dueq.Queue) dueq.Handler {
	const every, many, few, late = 50, 100, 5, 2000
	handled, enough := 0, many
	return func(ctx context.Context, _ *dueq.Delivery) error {
		if handled++; handled%every != 0 {
			return nil
		}
		if handled > late {
			enough = few
		}
		s, err := q.Stats(ctx)
		for err == nil && s.Counters.Acked < int64(handled-1) { // until all started deliveries are settled
			s, err = q.Stats(ctx)
		}
		if err != nil || s.Leased < int64(enough) {
			return err
		}
		if _, err := other.Send(ctx, dueq.Message{}); err != nil {
			return err
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	}
}

// stores are the URLs of stores that outlive a process, by name.
func stores(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"redis": "redis://" + redistest.Start(t, "--appendonly", "yes").Addr(),
		"file":  "file:" + t.TempDir(),
	}
}

// onQueue opens the store while do runs, because a file: store has one process at a time.
func onQueue(t *testing.T, url string, do func(q *dueq.Queue)) {
	t.Helper()
	client, err := dueq.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	do(client.Queue(queueName))
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
}

func sendEach(t *testing.T, q *dueq.Queue, n int, message func(i int) dueq.Message) {
	t.Helper()
	messages := make([]dueq.Message, n)
	for i := range messages {
		messages[i] = message(i)
	}
	results, err := q.SendBatch(t.Context(), messages)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

func child(t *testing.T, j job) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), roleEnv+"="+string(text))
	c.Stderr = os.Stderr
	return c
}

// TestConsume_HandlerThatExitsTheProcessEndsOnlyItsMessage repeatedly starts a process that the
// handler of one message ends.
func TestConsume_HandlerThatExitsTheProcessEndsOnlyItsMessage(t *testing.T) {
	t.Parallel()
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const innocents, attempts = 300, 4
			onQueue(t, url, func(q *dueq.Queue) {
				sendEach(t, q, innocents+1, func(i int) dueq.Message {
					if i == innocents/2 {
						return dueq.Message{Body: []byte("poison"), MaxAttempts: attempts}
					}
					return dueq.Message{MaxAttempts: attempts}
				})
			})
			crashes := 0
			for {
				err := child(t, job{Role: roleExiter, Store: url}).Run()
				if err == nil {
					break
				}
				crashes++
				exit, ok := errors.AsType[*exec.ExitError](err)
				if !ok || exit.ExitCode() != poisoned || crashes > 2*attempts+1 {
					t.Fatalf("process %d: %v", crashes, err)
				}
			}
			onQueue(t, url, func(q *dueq.Queue) {
				s, err := q.Stats(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d processes died; %d dead, %d acked, %d leases ran out", crashes, s.Dead, s.Counters.Acked, s.Counters.LeaseLost)
				if s.Dead != 1 || s.Counters.Acked != innocents || crashes > attempts+1 {
					t.Errorf("%d processes died, %d dead, %d acked, want %d at most, 1, %d", crashes, s.Dead, s.Counters.Acked, attempts+1, innocents)
				}
			})
		})
	}
}

// TestConsume_KilledWithPrefetchedMessagesOfOneAttempt kills a process that holds many
// messages of which one was started.
func TestConsume_KilledWithPrefetchedMessagesOfOneAttempt(t *testing.T) {
	t.Parallel()
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const messages, batches = 500, 8
			onQueue(t, url, func(q *dueq.Queue) {
				for range batches {
					sendEach(t, q, messages, func(int) dueq.Message { return dueq.Message{MaxAttempts: 1} })
				}
			})
			err := child(t, job{Role: roleHoarder, Store: url}).Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Exited() {
				t.Fatalf("the holder was not killed: %v", err)
			}
			if err := child(t, job{Role: roleDrainer, Store: url}).Run(); err != nil {
				t.Fatal(err)
			}
			onQueue(t, url, func(q *dueq.Queue) {
				s, err := q.Stats(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d dead, %d leases ran out", s.Dead, s.Counters.LeaseLost)
				if s.Dead != 1 || s.Counters.LeaseLost < 2 || s.Counters.Acked != messages*batches-1 {
					t.Errorf("%d dead, %d acked, %d leases ran out, want only the started one dead", s.Dead, s.Counters.Acked, s.Counters.LeaseLost)
				}
			})
		})
	}
}
