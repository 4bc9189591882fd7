package dueq_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
)

// received returns the next delivery of the queue, with a lease of a minute.
func (r *rig) received() *dueq.Delivery {
	r.Helper()
	all, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Lease: time.Minute})
	r.must(err)
	if len(all) != 1 {
		r.Fatalf("received %d deliveries, want 1", len(all))
	}
	return all[0]
}

// byReceipt returns the delivery of d's receipt as another client sees it.
func (r *rig) byReceipt(d *dueq.Delivery) *dueq.Delivery {
	r.Helper()
	other, err := r.direct.Delivery(d.Receipt())
	r.must(err)
	return other
}

func TestReceipt_AnotherClientSettlesWithEachVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		settle func(context.Context, *dueq.Delivery) error
		state  dueq.State // "": gone
	}{
		"ack":     {func(ctx context.Context, d *dueq.Delivery) error { return d.Ack(ctx) }, ""},
		"ack all": {func(ctx context.Context, d *dueq.Delivery) error { return dueq.AckAll(ctx, []*dueq.Delivery{d}) }, ""},
		"nack":    {func(ctx context.Context, d *dueq.Delivery) error { return d.Nack(ctx, time.Hour, errBroken) }, dueq.Scheduled},
		"release": {func(ctx context.Context, d *dueq.Delivery) error { return d.Release(ctx, 0) }, dueq.Ready},
		"snooze":  {func(ctx context.Context, d *dueq.Delivery) error { return d.Snooze(ctx, time.Hour, "busy") }, dueq.Scheduled},
		"reject":  {func(ctx context.Context, d *dueq.Delivery) error { return d.Reject(ctx, errBroken) }, dueq.Dead},
		"extend":  {func(ctx context.Context, d *dueq.Delivery) error { return d.Extend(ctx, time.Hour) }, dueq.Leased},
		"again": {func(ctx context.Context, d *dueq.Delivery) error {
			return d.Again(ctx, dueq.Schedule{Delay: time.Hour}, nil)
		}, dueq.Scheduled},
		"next": {func(ctx context.Context, d *dueq.Delivery) error {
			return d.Next(ctx, dueq.NextMessage{Message: dueq.Message{Body: []byte("2")}})
		}, ""},
		"settle": {func(ctx context.Context, d *dueq.Delivery) error { return d.Settle(ctx, errBroken) }, dueq.Scheduled},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				id := r.send(dueq.Message{Key: "k", Body: []byte("1")})
				d := r.received()
				r.must(c.settle(r.Context(), r.byReceipt(d)))
				got, err := r.direct.Get(r.Context(), dueq.ID(id))
				if c.state == "" && !errors.Is(err, dueq.ErrNotFound) || c.state != "" && got.State != c.state {
					r.Errorf("the message is %q, %v, want %q", got.State, err, c.state)
				}
			})
		})
	}
}

var errBroken = errors.New("broken")

func TestReceipt_HasTheNumbersOfTheDelivery(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{MaxAttempts: 3})
		for range 2 {
			r.must(r.received().Nack(r.Context(), 0, errBroken))
		}
		d := r.received()
		got := r.byReceipt(d)
		if got.ID != d.ID || got.Queue != d.Queue || got.Attempt != 3 || got.Token != 3 || got.Failures != 2 || got.MaxAttempts != 3 ||
			!got.Due.Equal(d.Due) || !got.SentAt.Equal(d.SentAt) || !got.LastAttempt() || got.IdempotencyKey() != d.IdempotencyKey() {
			t.Errorf("%+v\nwant %+v", got, d)
		}
		if got.Receipt() != d.Receipt() {
			t.Errorf("the receipt of the receipt's delivery is %q, want %q", got.Receipt(), d.Receipt())
		}
	})
}

func TestReceipt_AckOfARecurringMessageSchedulesTheNextOccurrence(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{Key: "tick", Repeat: dueq.Repeat{Every: time.Minute}})
		r.sleep(time.Minute)
		r.must(r.byReceipt(r.received()).Ack(r.Context()))
		if got := r.get(id); got.State != dueq.Scheduled || got.Repeat.Every != time.Minute {
			t.Errorf("the message is %s %v, want scheduled for the next occurrence", got.State, got.Repeat)
		}
	})
}

func TestReceipt_OfAnEarlierDeliveryIsLost(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		first := r.received()
		r.must(first.Release(r.Context(), 0))
		second := r.received()
		if err := r.byReceipt(first).Ack(r.Context()); !errors.Is(err, dueq.ErrLeaseLost) {
			t.Errorf("ack with the receipt of the first delivery: %v, want ErrLeaseLost", err)
		}
		r.must(r.byReceipt(second).Ack(r.Context()))
		r.must(r.byReceipt(second).Ack(r.Context())) // repeated after a lost reply
	})
}

func TestQueueDelivery_RefusesWhatIsNoReceiptOfTheQueue(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		receipt := r.received().Receipt()
		texts := []string{"", " ", "x", receipt + "A", receipt[1:], receipt + "\n", strings.ToUpper(receipt), strings.Repeat("A", 60), "key:order-42"}
		for i := range len(receipt) {
			b := []byte(receipt)
			b[i] = 'A' + (b[i]+1)%26
			if string(b) != receipt {
				texts = append(texts, string(b))
			}
		}
		for _, text := range texts {
			_, err := r.q.Delivery(text)
			if e, ok := errors.AsType[*dueq.Error](err); !ok || e.Field != "receipt" || !errors.Is(err, dueq.ErrInvalid) {
				t.Errorf("%q: %v, want ErrInvalid for the receipt", text, err)
			}
		}
		if _, err := r.client.Queue("other").Delivery(receipt); !errors.Is(err, dueq.ErrInvalid) {
			t.Errorf("a receipt of another queue: %v, want ErrInvalid", err)
		}
		if _, err := r.client.Queue("a b").Delivery(receipt); !errors.Is(err, dueq.ErrInvalid) {
			t.Errorf("a bad name of a queue: %v, want ErrInvalid", err)
		}
	})
}

func TestReceipt_EmptyWithoutALease(t *testing.T) {
	t.Parallel()
	if got := (&dueq.Delivery{ID: "x"}).Receipt(); got != "" {
		t.Errorf("a delivery that was not received has the receipt %q", got)
	}
	synctest.Test(t, func(t *testing.T) {
		client, err := dueq.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		q, receipts := client.Queue("work"), make(chan string, 1)
		if _, err := q.Send(t.Context(), dueq.Message{}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		err = q.Consume(ctx, func(_ context.Context, d *dueq.Delivery) error {
			receipts <- d.Receipt()
			stop()
			return nil
		}, dueq.ConsumeOptions{AtMostOnce: true})
		if got := <-receipts; got != "" || err != nil {
			t.Errorf("an at-most-once delivery has the receipt %q (%v)", got, err)
		}
	})
}

func FuzzQueueDelivery(f *testing.F) {
	client, err := dueq.NewMemory(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = client.Close() })
	q := client.Queue("work")
	for _, m := range []dueq.Message{{}, {Key: "k", MaxAttempts: 1}} {
		if _, err := q.Send(f.Context(), m); err != nil {
			f.Fatal(err)
		}
	}
	all, err := q.Receive(f.Context(), dueq.ReceiveOptions{Max: 2})
	if err != nil || len(all) != 2 {
		f.Fatal(len(all), err)
	}
	f.Add(all[0].Receipt())
	f.Add(all[1].Receipt())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := q.Delivery(text)
		if err != nil {
			if !errors.Is(err, dueq.ErrInvalid) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if d.Receipt() != text {
			t.Fatalf("%q became %q", text, d.Receipt())
		}
	})
}

func TestSettle_ErrorHasTheBackoffOfTheQueue(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.direct.Create(r.Context(), dueq.Settings{Backoff: dueq.BackoffSettings{Base: time.Millisecond, Most: time.Millisecond}}))
		id := r.send(dueq.Message{})
		r.must(r.received().Settle(r.Context(), errBroken))
		if wait := time.Until(r.get(id).At); wait > time.Second {
			t.Errorf("due again in %s, want the queue's backoff of a millisecond at most", wait)
		}
	})
}
