package dueq_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
)

func TestDeleteQueue_RefusesMessagesUnlessForced(t *testing.T) {
	inBubble(t, func(r *rig) {
		ctx := r.Context()
		wantInvalid(r.T, r.client.DeleteQueue(ctx, "a b", nil), "queue")
		if err := r.client.DeleteQueue(ctx, "work", nil); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("unknown: %v, want ErrNotFound", err)
		}
		r.must(r.q.Create(ctx, dueq.Settings{Partitions: 4, MaxAttempts: 3}))
		r.send(dueq.Message{Body: []byte("1"), Delay: time.Hour, Key: "k"})
		err := r.client.DeleteQueue(ctx, "work", &dueq.DeleteQueueOptions{})
		if !errors.Is(err, dueq.ErrNotEmpty) || err.Error() != `delete queue "work": it has 1 messages: the queue is not empty` {
			r.Errorf("with a message: %v, want ErrNotEmpty", err)
		}
		r.must(r.client.DeleteQueue(ctx, "work", &dueq.DeleteQueueOptions{Force: true}))
		if _, err := r.q.Settings(ctx); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("settings: %v, want ErrNotFound", err)
		}
		// Clients that have used the queue send to a new one, which has another number of partitions.
		for _, q := range []*dueq.Queue{r.q, r.direct} {
			if _, err := q.Send(ctx, dueq.Message{Body: []byte("2")}); err != nil {
				r.Error(err)
			}
		}
		if s, err := r.q.Settings(ctx); err != nil || s.Partitions != 1 || s.MaxAttempts != 0 {
			r.Errorf("%+v, %v, want the defaults", s, err)
		}
		if s := r.stats(); s.Ready != 2 || s.Counters.Sent != 2 {
			r.Errorf("%+v, want 2 ready messages", s)
		}
	})
}

// A consumer stops when its queue is deleted: the handlers that run end first.
func TestConsume_DeletedQueueReturnsErrNotFound(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.q.Create(r.Context(), dueq.Settings{Partitions: 3}))
		r.send(dueq.Message{Body: []byte("1")})
		running, finish, ended := make(chan struct{}), make(chan struct{}), false
		c := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			close(running)
			<-finish
			ended = true
			return nil
		}, dueq.ConsumeOptions{})
		<-running
		r.must(r.spared.DeleteQueue(r.Context(), "work", &dueq.DeleteQueueOptions{Force: true}))
		r.sleep(3 * time.Second)
		select {
		case err := <-c.done:
			r.Fatalf("Consume returned %v while a handler ran", err)
		default:
		}
		close(finish)
		err := <-c.done
		if want := `consume queue "work": the queue was deleted: not found`; !errors.Is(err, dueq.ErrNotFound) || err.Error() != want || !ended {
			r.Errorf("Consume: %v (handler ended: %v), want %s", err, ended, want)
		}
		if s, err := r.q.Settings(r.Context()); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("the consumer has made the queue again: %+v, %v", s, err)
		}
	})
}

func TestReceive_DeletedQueueReturnsErrNotFound(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Body: []byte("1")})
		held, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		received := make(chan error, 1)
		go func() {
			_, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Wait: time.Minute})
			received <- err
		}()
		r.sleep(time.Second)
		r.must(r.spared.DeleteQueue(r.Context(), "work", &dueq.DeleteQueueOptions{Force: true}))
		if err := <-received; !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("Receive: %v, want ErrNotFound", err)
		}
		if err := held[0].Extend(r.Context(), time.Minute); !errors.Is(err, dueq.ErrLeaseLost) {
			r.Errorf("Extend: %v, want ErrLeaseLost", err)
		}
		if err := held[0].Ack(r.Context()); err != nil && !errors.Is(err, dueq.ErrLeaseLost) {
			r.Errorf("Ack: %v, want nil or ErrLeaseLost", err)
		}
	})
}

// On Redis, where a queue can be deleted by another process.
func TestDeleteQueue_OtherProcessesAreNotified(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	url := "unix://" + redistest.Shared(t).Addr() + "?prefix=" + redistest.Prefix()
	consumer, sender, operator := open(ctx, t, url), open(ctx, t, url), openClient(ctx, t, url)
	if err := sender.Create(ctx, dueq.Settings{Partitions: 3}); err != nil {
		t.Fatal(err)
	}
	handled, consumed := make(chan string, 10), make(chan error, 1)
	go func() {
		consumed <- consumer.Consume(ctx, func(_ context.Context, d *dueq.Delivery) error {
			handled <- d.ID
			return nil
		}, dueq.ConsumeOptions{})
	}()
	if _, err := sender.Send(ctx, dueq.Message{Body: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	<-handled
	for {
		err := operator.DeleteQueue(ctx, sender.Name(), nil)
		if err == nil {
			break
		}
		if !errors.Is(err, dueq.ErrNotEmpty) { // the message may not be acked yet
			t.Fatal(err)
		}
	}
	if err := <-consumed; !errors.Is(err, dueq.ErrNotFound) {
		t.Errorf("Consume: %v, want ErrNotFound", err)
	}
	if _, err := sender.Settings(ctx); !errors.Is(err, dueq.ErrNotFound) {
		t.Errorf("settings: %v, want ErrNotFound", err)
	}
	if _, err := sender.Send(ctx, dueq.Message{Body: []byte("2")}); err != nil {
		t.Fatal(err)
	}
	if s, err := sender.Settings(ctx); err != nil || s.Partitions != 1 {
		t.Errorf("%+v, %v, want the defaults", s, err)
	}
}
