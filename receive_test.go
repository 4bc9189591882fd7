package dueq_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestReceive_WaitsForTheNextMessage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		send time.Duration // when, from the start of the wait
		due  time.Duration // after the send
		wait time.Duration
		want time.Duration // when Receive returns
		got  int
	}{
		{"due already", 0, 0, time.Minute, 0, 1},
		{"nothing and no wait", time.Second, 0, 0, 0, 0},
		{"nothing", time.Hour, 0, 30 * time.Second, 30 * time.Second, 0},
		{"sent while waiting", 5 * time.Second, 0, 30 * time.Second, 5 * time.Second, 1},
		{"due while waiting", time.Second, 7 * time.Second, 30 * time.Second, 8 * time.Second, 1},
		{"due too late", time.Second, time.Minute, 30 * time.Second, 30 * time.Second, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.must(r.direct.Create(r.Context(), dueq.Settings{}))
				if test.send == 0 {
					r.send(dueq.Message{Delay: test.due})
				} else {
					timer := time.AfterFunc(test.send, func() { r.send(dueq.Message{Delay: test.due}) })
					defer timer.Stop()
				}
				start := time.Now()
				got, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Wait: test.wait})
				if err != nil || len(got) != test.got || time.Since(start) != test.want {
					r.Errorf("%d deliveries after %s, error %v: want %d after %s", len(got), time.Since(start), err, test.got, test.want)
				}
			})
		})
	}
}

func TestReceive_CallsInALoopShareOneSubscription(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.direct.Create(r.Context(), dueq.Settings{}))
		wait := func() (claims int) {
			r.Helper()
			before := r.net.count("claim")
			timer := time.AfterFunc(time.Second, func() { r.send(dueq.Message{}) })
			defer timer.Stop()
			got, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Wait: 20 * time.Second})
			r.must(err)
			if len(got) != 1 {
				r.Fatalf("%d deliveries, want 1", len(got))
			}
			r.must(got[0].Ack(r.Context()))
			return r.net.count("claim") - before
		}
		if n := wait(); n > 3 {
			r.Errorf("the first wait took %d claims, want one at the start, one when it listens, one for the message", n)
		}
		for range 3 {
			r.sleep(30 * time.Second) // less than a subscription is kept
			if n := wait(); n != 2 {
				r.Errorf("a wait took %d claims, want one at the start and one for the message", n)
			}
		}
		if n := r.net.count("watch"); n != 1 {
			r.Errorf("%d subscriptions, want 1", n)
		}
		r.sleep(2 * time.Minute)
		wait()
		if n := r.net.count("watch"); n != 2 {
			r.Errorf("%d subscriptions after a long pause, want 2", n)
		}
	})
}

// A hint between a claim that finds nothing and the wait behind it must not be missed.
func TestReceive_HintBeforeTheWaitIsNotMissed(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.direct.Create(r.Context(), dueq.Settings{}))
		_, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Wait: time.Second})
		r.must(err) // the subscription is there from now on
		var once sync.Once
		r.net.afterClaim(func() {
			once.Do(func() {
				r.send(dueq.Message{})
				synctest.Wait() // until the hint has arrived
			})
		})
		start := time.Now()
		got, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Wait: 20 * time.Second})
		r.must(err)
		if waited := time.Since(start); len(got) != 1 || waited > 100*time.Millisecond {
			r.Errorf("%d deliveries after %s, want 1 at once", len(got), waited)
		}
	})
}

func TestReceive_DeliveryIsSettledByItsMethods(t *testing.T) {
	inBubble(t, func(r *rig) {
		m := dueq.Message{Key: "k", Headers: map[string]string{"a": "b"}, Body: []byte("body"), TTL: time.Hour}
		start := time.Now()
		id := r.send(m)
		ctx := r.Context()
		receive := func() *dueq.Delivery {
			r.Helper()
			due, err := r.q.Receive(ctx, dueq.ReceiveOptions{Max: 5, Lease: 10 * time.Second})
			r.must(err)
			if len(due) != 1 || due[0].ID != id {
				r.Fatalf("%d deliveries, want the message", len(due))
			}
			return due[0]
		}
		d := receive()
		if d.Queue != "work" || d.Key != "k" || d.Headers["a"] != "b" || string(d.Body) != "body" ||
			d.Attempt != 1 || d.Failures != 0 || d.MaxAttempts != 25 || !d.Due.Equal(start) || !d.ExpiresAt.Equal(start.Add(time.Hour)) {
			r.Errorf("%+v", d)
		}
		r.must(d.Extend(ctx, time.Minute))
		r.sleep(30 * time.Second)
		r.must(d.Release(ctx, 0))
		first, d := d, receive()
		if d.Attempt != 2 || d.Failures != 0 {
			r.Errorf("after a release: %+v", d)
		}
		if err := first.Ack(ctx); !errors.Is(err, dueq.ErrLeaseLost) {
			r.Errorf("ack of an old delivery: %v, want ErrLeaseLost", err)
		}
		r.must(d.Nack(ctx, time.Second, errNoLuck))
		r.sleep(time.Second)
		d = receive()
		if d.Attempt != 3 || d.Failures != 1 {
			r.Errorf("after a nack: %+v", d)
		}
		for _, wrong := range []error{d.Nack(ctx, -1, nil), d.Extend(ctx, -1)} {
			wantInvalid(r.T, wrong, "delay")
		}
		wantInvalid(r.T, d.Extend(ctx, time.Millisecond), "lease")
		wantInvalid(r.T, (&dueq.Delivery{}).Ack(ctx), "delivery")
		r.must(d.Ack(ctx))
		r.must(d.Ack(ctx))
		if err := d.Extend(ctx, time.Minute); !errors.Is(err, dueq.ErrLeaseLost) {
			r.Errorf("extend of what is gone: %v, want ErrLeaseLost", err)
		}
	})
}

func TestReceive_LateReplyIsReleased(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{})
		ctx, cancel := context.WithCancel(r.Context())
		arrive := make(chan struct{})
		r.net.set(func(op string) fault {
			if op == "claim" {
				<-arrive // with the network's mutex held
			}
			return works
		})
		failed := make(chan error, 1)
		go func() {
			_, err := r.q.Receive(ctx, dueq.ReceiveOptions{})
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			r.Errorf("%v, want the error of ctx", err)
		}
		close(arrive)
		synctest.Wait()
		if m := r.get(id); m.State != dueq.Ready || m.Attempt != 1 || m.Failures != 0 {
			r.Errorf("not released: %+v", m)
		}
	})
}

func TestReceive_AfterALostReplyReturnsTheMessages(t *testing.T) {
	inBubble(t, func(r *rig) {
		for range 3 {
			r.send(dueq.Message{})
		}
		r.net.set(always(replyLost, "claim"))
		if _, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 2}); !errors.Is(err, dueq.ErrUnavailable) {
			r.Fatalf("%v, want ErrUnavailable", err)
		}
		if s := r.stats(); s.Leased != 2 {
			r.Fatalf("%d leased, want the 2 of the lost reply", s.Leased)
		}
		r.net.set(nil)
		due, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Max: 3})
		r.must(err)
		if s := r.stats(); len(due) != 3 || s.Leased != 3 {
			r.Errorf("%d deliveries, %d leased, want all 3", len(due), s.Leased)
		}
	})
}

func TestReceive_WaitsThroughAnOutage(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		r.net.set(everything(refused))
		restore := time.AfterFunc(10*time.Second, func() { r.net.set(nil) })
		defer restore.Stop()
		due, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Wait: 30 * time.Second})
		r.must(err)
		if len(due) != 1 {
			r.Errorf("%d deliveries, want 1", len(due))
		}
	})
}

func TestReceive_BadInputIsRefused(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	t.Cleanup(func() { _ = client.Close() })
	tests := []struct {
		name   string
		config dueq.ReceiveOptions
		field  string
	}{
		{"negative max", dueq.ReceiveOptions{Max: -1}, "max"},
		{"excessive max", dueq.ReceiveOptions{Max: 501}, "max"},
		{"negative wait", dueq.ReceiveOptions{Wait: -1}, "wait"},
		{"long wait", dueq.ReceiveOptions{Wait: time.Minute + 1}, "wait"},
		{"short lease", dueq.ReceiveOptions{Lease: time.Millisecond}, "lease"},
		{"long lease", dueq.ReceiveOptions{Lease: 13 * time.Hour}, "lease"},
		{"odd lease", dueq.ReceiveOptions{Lease: time.Second + 1}, "lease"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := client.Queue("work").Receive(t.Context(), test.config)
			wantInvalid(t, err, test.field)
		})
	}
}
