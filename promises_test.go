package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
)

// The promises of docs/GUARANTEES.md, tested through the public API on the store in memory.

func TestConsume_NothingIsLost(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 300
		var seen tally
		for i := range messages {
			r.send(dueq.Message{Body: fmt.Append(nil, i), Delay: time.Duration(i) * 10 * time.Millisecond})
		}
		r.net.set(every(5))
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			if seen.add(string(d.Body)) <= len(d.Body)-1 { // bodies of two digits fail once, those of three twice
				return errors.New("no luck")
			}
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(5 * time.Minute)
		r.net.set(nil)
		_, err := consumer.end()
		r.must(err)
		s := r.stats()
		if s.Counters.Acked != messages || s.Scheduled+s.Ready+s.Leased+s.Dead != 0 {
			r.Fatalf("not everything was acked: %+v", s)
		}
		for i := range messages {
			if text := fmt.Sprint(i); seen.of(text) != len(text) {
				r.Errorf("message %d was delivered %d times, want %d", i, seen.of(text), len(text))
			}
		}
	})
}

func TestConsume_NeverEarly(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 100
		start := time.Now()
		for i := range messages {
			delay := time.Duration(i*i)*time.Millisecond + time.Duration(i)*137*time.Microsecond
			m := dueq.Message{Body: []byte(delay.String()), Delay: delay}
			if i%2 == 0 {
				m.Delay, m.Due = 0, start.Add(delay)
			}
			r.send(m)
		}
		var handled atomic.Int64
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			handled.Add(1)
			delay, err := time.ParseDuration(string(d.Body))
			r.must(err)
			late := time.Since(start) - delay
			if late < 0 || late > 2*time.Millisecond {
				r.Errorf("%s: delivered %s after its due time", delay, late)
			}
			return nil
		}, dueq.ConsumeOptions{Concurrency: messages})
		r.sleep(time.Minute)
		_, err := consumer.end()
		r.must(err)
		if handled.Load() != messages {
			r.Fatalf("handled %d, want %d", handled.Load(), messages)
		}
	})
}

func TestConsume_OneHolderAtATime(t *testing.T) {
	inBubble(t, func(r *rig) {
		const lease = 10 * time.Second
		id := r.send(dueq.Message{})
		var claimed, ended, again time.Time
		var cause, late error
		cut := r.consume(r.q, func(ctx context.Context, d *dueq.Delivery) error {
			claimed = time.Now()
			r.net.set(everything(hangs))
			<-ctx.Done()
			ended, cause = time.Now(), context.Cause(ctx)
			pass(2 * lease) // a handler that does not listen
			r.net.set(nil)
			late = d.Ack(context.WithoutCancel(ctx))
			return nil
		}, dueq.ConsumeOptions{Lease: lease})
		synctest.Wait()
		other := r.consume(r.direct, func(context.Context, *dueq.Delivery) error {
			again = time.Now()
			pass(5 * lease)
			return errors.New("not done")
		}, dueq.ConsumeOptions{Lease: lease, Backoff: func(*dueq.Delivery, error) time.Duration { return time.Hour }})
		r.sleep(10 * lease)
		_, err := cut.end()
		r.must(err)
		_, err = other.end()
		r.must(err)

		if !errors.Is(cause, dueq.ErrLeaseLost) || !errors.Is(late, dueq.ErrLeaseLost) {
			r.Errorf("cause %v, late ack %v: want ErrLeaseLost", cause, late)
		}
		if held := ended.Sub(claimed); held < lease/2 || held >= lease {
			r.Errorf("the handler's context ended after %s of a lease of %s", held, lease)
		}
		if wait := again.Sub(claimed); wait < lease || wait > lease+time.Second {
			r.Errorf("delivered again after %s, want within a second after %s", wait, lease)
		}
		if m := r.get(id); m.State != dueq.Scheduled || m.Failures != 1 {
			r.Errorf("a late holder has disturbed the message: %+v", m)
		}
	})
}

func TestSend_AgainStoresNothingTwice(t *testing.T) {
	inBubble(t, func(r *rig) {
		m := dueq.Message{Body: []byte("once")}
		r.net.set(always(replyLost, "push"))
		id, err := r.q.Send(r.Context(), m)
		if id == "" || !errors.Is(err, dueq.ErrUnavailable) {
			r.Fatalf("id %q, error %v: want an id and ErrUnavailable", id, err)
		}
		deliveries, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		r.must(deliveries[0].Ack(r.Context()))

		r.net.set(nil)
		m.ID = id
		again, err := r.q.Send(r.Context(), m) // after it has been consumed
		r.must(err)
		if s := r.stats(); again != id || s.Counters.Sent != 1 || s.Ready != 0 {
			r.Fatalf("sent again as %q, want %q: %+v", again, id, s)
		}
	})
}

func TestSendBatch_AgainStoresNothingTwice(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 1200
		batch := make([]dueq.Message, messages)
		for i := range batch {
			batch[i].Body = fmt.Append(nil, i)
		}
		r.net.set(every(2))
		for range 10 {
			results, err := r.q.SendBatch(r.Context(), batch)
			r.must(err)
			var failed []dueq.Message
			for i, result := range results {
				if result.Err != nil {
					m := batch[i]
					m.ID = result.ID
					failed = append(failed, m)
				}
			}
			for { // everything is consumed before it is sent again
				due, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{Max: 500})
				r.must(err)
				for _, d := range due {
					r.must(d.Ack(r.Context()))
				}
				if len(due) == 0 {
					break
				}
			}
			if batch = failed; len(batch) == 0 {
				break
			}
		}
		if s := r.stats(); s.Counters.Sent != messages || s.Counters.Acked != messages {
			r.Fatalf("%+v, want %d sent and acked", s.Counters, messages)
		}
	})
}

func TestConsume_LostRepliesUseUpNoAttempt(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 50
		for range messages {
			r.send(dueq.Message{})
		}
		var seen tally
		var lost atomic.Int64
		r.net.set(func(op string) fault {
			if (op == "claim" || op == "ack") && lost.Add(1)%2 == 1 {
				return replyLost
			}
			return works
		})
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			if d.Attempt != 1 {
				r.Errorf("attempt %d, want 1", d.Attempt)
			}
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(20 * time.Second) // less than a lease: no message is due again
		_, err := consumer.end()
		r.must(err)
		if s := r.stats(); seen.total() != messages || s.Counters.Acked != messages || s.Counters.LeaseLost != 0 {
			r.Fatalf("handled %d of %d: %+v", seen.total(), messages, s.Counters)
		}
	})
}

func TestSend_KeyIsUniqueWhileItsMessageLives(t *testing.T) {
	inBubble(t, func(r *rig) {
		m := dueq.Message{Key: "order-42", Body: []byte("a"), Delay: time.Minute}
		first := r.send(m)
		m.Body = []byte("b")
		id, err := r.q.Send(r.Context(), m)
		var refusal *dueq.Error
		if id != "" || !errors.Is(err, dueq.ErrDuplicate) || !errors.As(err, &refusal) || refusal.Holder != first {
			r.Fatalf("id %q, error %v: want ErrDuplicate with the holder %s", id, err, first)
		}
		m.Replace = true
		second, err := r.q.Send(r.Context(), m)
		r.must(err)
		if got := r.find(dueq.Key("order-42")); got.ID != second || string(got.Body) != "b" {
			r.Fatalf("the key belongs to %+v, want %s", got, second)
		}
		r.sleep(time.Minute)
		due, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		if _, err := r.q.Send(r.Context(), m); !errors.Is(err, dueq.ErrDuplicate) {
			r.Fatalf("replaced a message that is held: %v", err)
		}
		r.must(due[0].Ack(r.Context()))
		if _, err := r.q.Send(r.Context(), m); err != nil {
			r.Fatalf("the key is not free after the ack: %v", err)
		}
	})
}

func TestCancel_IsDefinite(t *testing.T) {
	inBubble(t, func(r *rig) {
		scheduled := r.send(dueq.Message{Key: "later", Delay: time.Hour})
		running := r.send(dueq.Message{})
		var cause error
		consumer := r.consume(r.q, func(ctx context.Context, _ *dueq.Delivery) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		}, dueq.ConsumeOptions{})
		synctest.Wait()

		if err := r.direct.Cancel(r.Context(), dueq.Key("later")); err != nil {
			r.Errorf("cancel of a scheduled message: %v, want none", err)
		}
		if err := r.direct.Cancel(r.Context(), dueq.ID(scheduled)); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("cancel of what is gone: %v, want ErrNotFound", err)
		}
		if err := r.direct.Reschedule(r.Context(), dueq.ID(running), dueq.Schedule{}); !errors.Is(err, dueq.ErrRunning) {
			r.Errorf("reschedule of a message that is held: %v, want ErrRunning", err)
		}
		if err := r.direct.Cancel(r.Context(), dueq.ID(running)); !errors.Is(err, dueq.ErrRunning) {
			r.Errorf("cancel of a message that is held: %v, want ErrRunning", err)
		}
		synctest.Wait()
		if !errors.Is(cause, dueq.ErrCancelled) {
			r.Errorf("cause %v, want ErrCancelled", cause)
		}
		r.sleep(time.Hour)
		_, err := consumer.end()
		r.must(err)
		if s := r.stats(); s.Counters.Delivered != 1 || s.Counters.Cancelled != 2 {
			r.Errorf("%+v, want 1 delivered, 2 cancelled", s.Counters)
		}
	})
}

func TestCancel_NotDeliveredAgainWhenItsHolderDies(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{})
		dying := r.consume(r.q, func(ctx context.Context, _ *dueq.Delivery) error {
			r.net.set(everything(refused))
			<-ctx.Done()
			return ctx.Err()
		}, dueq.ConsumeOptions{Lease: 5 * time.Second})
		synctest.Wait()
		if err := r.direct.Cancel(r.Context(), dueq.ID(id)); !errors.Is(err, dueq.ErrRunning) {
			r.Errorf("cancel of a message that is held: %v, want ErrRunning", err)
		}
		var seen tally
		other := r.consume(r.direct, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			return nil
		}, dueq.ConsumeOptions{})
		r.sleep(time.Minute)
		if seen.total() != 0 {
			r.Errorf("delivered %d times after the cancel", seen.total())
		}
		_, err := other.end()
		r.must(err)
		_, err = dying.end()
		r.must(err)
	})
}

func TestConsume_ManyDueAtTheSameInstant(t *testing.T) {
	inBubble(t, func(r *rig) {
		const messages = 10_000
		batch := make([]dueq.Message, messages)
		due := time.Now().Add(time.Hour)
		for i := range batch {
			batch[i] = dueq.Message{Due: due}
		}
		results, err := r.q.SendBatch(r.Context(), batch)
		r.must(err)
		for _, result := range results {
			r.must(result.Err)
		}
		var seen tally
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			return nil
		}, dueq.ConsumeOptions{Concurrency: 50})
		r.sleep(time.Hour + time.Second)
		_, err = consumer.end()
		r.must(err)
		if seen.distinct() != messages || seen.total() != messages {
			r.Fatalf("handled %d messages %d times, want %d once", seen.distinct(), seen.total(), messages)
		}
	})
}

func TestConsume_GracefulStop(t *testing.T) {
	inBubble(t, func(r *rig) {
		finished := r.send(dueq.Message{Body: []byte("2s")})
		interrupted := r.send(dueq.Message{Body: []byte("1h")})
		waiting := r.send(dueq.Message{})
		var cause error
		consumer := r.consume(r.q, func(ctx context.Context, d *dueq.Delivery) error {
			work, err := time.ParseDuration(string(d.Body))
			r.must(err)
			select {
			case <-time.After(work):
				return nil
			case <-ctx.Done():
				cause = context.Cause(ctx)
				return ctx.Err()
			}
		}, dueq.ConsumeOptions{Concurrency: 2, Grace: 5 * time.Second})
		synctest.Wait()
		took, err := consumer.end()
		r.must(err)
		if took != 5*time.Second || !errors.Is(cause, dueq.ErrClosed) {
			r.Errorf("stopped after %s, cause %v: want the grace of 5s, then ErrClosed", took, cause)
		}
		if _, err := r.direct.Get(r.Context(), dueq.ID(finished)); !errors.Is(err, dueq.ErrNotFound) {
			r.Errorf("what finished in time was not acked: %v", err)
		}
		for _, id := range []string{interrupted, waiting} {
			if m := r.get(id); m.State != dueq.Ready || m.Failures != 0 {
				r.Errorf("not released unharmed: %+v", m)
			}
		}
	})
}

func TestConsume_PrefetchedMessagesAreReleasedAtOnce(t *testing.T) {
	inBubble(t, func(r *rig) {
		hold := make(chan struct{})
		var started atomic.Int64
		for range 5 {
			r.send(dueq.Message{})
		}
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			pass(time.Millisecond) // fast at first, so that the consumer prefetches
			if started.Add(1) > 5 {
				<-hold
			}
			return nil
		}, dueq.ConsumeOptions{Concurrency: 1})
		r.sleep(time.Second)
		for range 50 {
			r.send(dueq.Message{})
		}
		r.sleep(time.Second)
		if s := r.stats(); s.Leased < 2 {
			r.Fatalf("%d leased: nothing was fetched ahead", s.Leased)
		}
		consumer.stop()
		synctest.Wait()
		if s := r.stats(); s.Leased != 1 || s.Ready != 49 {
			r.Errorf("%d leased, %d ready: want only what a handler works on to be held", s.Leased, s.Ready)
		}
		close(hold)
		r.must(<-consumer.done)
		if s := r.stats(); s.Counters.Nacked+s.Counters.LeaseLost != 0 {
			r.Errorf("the stop cost attempts: %+v", s.Counters)
		}
	})
}

func TestConsume_HandlerThatDoesNotStopIsNamed(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{})
		hold := make(chan struct{})
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			<-hold
			return nil
		}, dueq.ConsumeOptions{Grace: time.Second})
		synctest.Wait()
		took, err := consumer.end()
		if err == nil || took > 8*time.Second {
			r.Errorf("stopped after %s with error %v: want one that names a handler", took, err)
		}
		if m := r.get(id); m.State != dueq.Ready || m.Failures != 0 {
			r.Errorf("not released unharmed: %+v", m)
		}
		close(hold)
	})
}

func TestConsume_StopTakesTheGracePeriodWhenTheStoreHangs(t *testing.T) {
	inBubble(t, func(r *rig) {
		const grace = 10 * time.Second
		for range 50 {
			r.send(dueq.Message{})
		}
		consumer := r.consume(r.q, func(context.Context, *dueq.Delivery) error {
			pass(10 * time.Millisecond)
			return nil
		}, dueq.ConsumeOptions{Concurrency: 1, Grace: grace})
		r.sleep(100 * time.Millisecond) // some are handled, others wait for the worker
		r.net.set(everything(hangs))
		r.sleep(100 * time.Millisecond)
		took, err := consumer.end()
		r.must(err)
		if took > grace+4*time.Second {
			r.Errorf("stopped after %s, want about the grace of %s", took, grace)
		}
	})
}

func TestConsume_CrashedHoldersMessagesAreDeliveredAgainInTime(t *testing.T) {
	inBubble(t, func(r *rig) {
		const lease = 3 * time.Second
		r.send(dueq.Message{})
		var claimed, again time.Time
		dying := r.consume(r.q, func(ctx context.Context, _ *dueq.Delivery) error {
			claimed = time.Now()
			r.net.set(everything(refused))
			<-ctx.Done()
			return nil
		}, dueq.ConsumeOptions{Lease: lease})
		synctest.Wait()
		other := r.consume(r.direct, func(context.Context, *dueq.Delivery) error {
			again = time.Now()
			return nil
		}, dueq.ConsumeOptions{Concurrency: 1})
		r.sleep(time.Minute)
		if wait := again.Sub(claimed); wait < lease || wait > lease+time.Second {
			r.Errorf("back after %s, want within a second after %s", wait, lease)
		}
		_, err := other.end()
		r.must(err)
		_, err = dying.end()
		r.must(err)
	})
}

func TestConsume_PoisonBecomesDeadAndOthersAreDelivered(t *testing.T) {
	inBubble(t, func(r *rig) {
		poison := r.send(dueq.Message{Body: []byte("poison"), MaxAttempts: 3})
		for range 20 {
			r.send(dueq.Message{})
		}
		consumer := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			if string(d.Body) == "poison" {
				panic("this one again")
			}
			return nil
		}, dueq.ConsumeOptions{Concurrency: 1})
		r.sleep(time.Minute)
		_, err := consumer.end()
		r.must(err)
		if m := r.get(poison); m.State != dueq.Dead || m.Failures != 3 {
			r.Errorf("%+v, want dead after 3 failures", m)
		}
		if s := r.stats(); s.Counters.Acked != 20 {
			r.Errorf("%d others acked, want 20", s.Counters.Acked)
		}
	})
}
