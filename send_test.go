package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestSend_StalledCallDoesNotDelayOthers(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{})
		_, err := r.q.Settings(r.Context())
		r.must(err)
		r.net.set(once(stalls, "push"))
		stalled := make(chan error, 1)
		go func() {
			_, err := r.q.Send(r.Context(), dueq.Message{})
			stalled <- err
		}()
		synctest.Wait()
		start := time.Now()
		for range 50 {
			_, err := r.q.Send(r.Context(), dueq.Message{})
			r.must(err)
		}
		if took := time.Since(start); took > 200*time.Millisecond {
			r.Errorf("50 sends took %s while another was stalled", took)
		}
		r.must(<-stalled)
		if c := r.stats().Counters; c.Sent != 52 {
			r.Errorf("%d sent, want 52", c.Sent)
		}
	})
}

func TestSend_BadInputIsRefused(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint("h", i)] = ""
	}
	tests := []struct {
		name    string
		message dueq.Message
		field   string
	}{
		{"negative delay", dueq.Message{Delay: -time.Nanosecond}, "delay"},
		{"delay beyond 10 years", dueq.Message{Delay: 11 * 366 * 24 * time.Hour}, "delay"},
		{"due beyond 10 years", dueq.Message{Due: time.Now().AddDate(11, 0, 0)}, "due"},
		{"due beyond all reckoning", dueq.Message{Due: time.Unix(1<<61, 0)}, "due"},
		{"delay and due", dueq.Message{Delay: time.Second, Due: time.Now().Add(time.Hour)}, "due"},
		{"key too long", dueq.Message{Key: strings.Repeat("k", 256)}, "key"},
		{"key with a line break", dueq.Message{Key: "a\nb"}, "key"},
		{"key that is not UTF-8", dueq.Message{Key: "\xff"}, "key"},
		{"too many headers", dueq.Message{Headers: many}, "headers"},
		{"headers too large", dueq.Message{Headers: map[string]string{"a": strings.Repeat("v", 8<<10)}}, "headers"},
		{"header name", dueq.Message{Headers: map[string]string{"a b": ""}}, "headers"},
		{"header value with a line break", dueq.Message{Headers: map[string]string{"a": "x\r\ny"}}, "headers"},
		{"negative max attempts", dueq.Message{MaxAttempts: -1}, "max attempts"},
		{"excessive max attempts", dueq.Message{MaxAttempts: 1001}, "max attempts"},
		{"negative ttl", dueq.Message{TTL: -1}, "ttl"},
		{"ttl shorter than the delay", dueq.Message{TTL: time.Second, Delay: time.Minute}, "ttl"},
		{"negative dedup for", dueq.Message{DedupFor: -1}, "dedup for"},
		{"dedup for beyond a day", dueq.Message{DedupFor: 25 * time.Hour}, "dedup for"},
		{"replace without a key", dueq.Message{Replace: true}, "replace"},
		{"id that is none", dueq.Message{ID: "42"}, "id"},
		{"id in upper case", dueq.Message{ID: "03E6NKXC01R01C3TGWJQ1G0000"}, "id"},
		{"id that is a key", dueq.Message{ID: dueq.Key("a").String()}, "id"},
		{"id of another partition", dueq.Message{ID: "03e6nkxc01r01c3tgwjq1g0004"}, "id"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				test.message.Body = []byte("body")
				if test.name == "due beyond 10 years" { // by the bubble's clock
					test.message.Due = time.Now().AddDate(11, 0, 0)
				}
				id, err := r.q.Send(r.Context(), test.message)
				wantInvalid(r.T, err, test.field)
				results, batchErr := r.q.SendBatch(r.Context(), []dueq.Message{test.message})
				r.must(batchErr)
				wantInvalid(r.T, results[0].Err, test.field)
				if id != "" || results[0].ID != "" {
					r.Errorf("ids %q, %q for what was not stored", id, results[0].ID)
				}
				if s, err := r.direct.Stats(r.Context()); err == nil && s.Counters.Sent != 0 {
					r.Error("something was stored")
				}
			})
		})
	}
}

func TestQueue_NameIsChecked(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	t.Cleanup(func() { _ = client.Close() })
	names := []string{
		"", strings.Repeat("q", 129), "_q", ".q", "-q", "..", "{q}", "q:1", "q*", "q?", "q[1]", `q\`, "q/r", "q\n", "q\x00", "a b", "🦆", "\u202eq",
	}
	for _, name := range names {
		q := client.Queue(name)
		_, sendErr := q.Send(t.Context(), dueq.Message{})
		_, batchErr := q.SendBatch(t.Context(), []dueq.Message{{}})
		_, receiveErr := q.Receive(t.Context(), dueq.ReceiveOptions{})
		_, statsErr := q.Stats(t.Context())
		for _, err := range []error{sendErr, batchErr, receiveErr, statsErr, q.Pause(t.Context())} {
			wantInvalid(t, err, "queue")
		}
	}
	if all, err := client.Stats(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("queues were made: %v, %v", all, err)
	}
}

func TestSend_TooLargeNamesTheLimit(t *testing.T) {
	inBubble(t, func(r *rig) {
		m := dueq.Message{Body: make([]byte, 256<<10+1)}
		_, err := r.q.Send(r.Context(), m)
		if !errors.Is(err, dueq.ErrTooLarge) || !strings.Contains(err.Error(), "262145 bytes, the limit is 262144") {
			r.Errorf("%v, want ErrTooLarge with size and limit", err)
		}
		_, err = r.direct.Update(r.Context(), func(s *dueq.Settings) { s.MaxBody = 1 << 20 })
		r.must(err)
		if _, err = r.q.Send(r.Context(), m); err != nil {
			r.Errorf("after the limit was raised: %v", err)
		}
		m.Body = make([]byte, 5<<20)
		if _, err = r.q.Send(r.Context(), m); !errors.Is(err, dueq.ErrTooLarge) {
			r.Errorf("beyond what any queue can take: %v, want ErrTooLarge", err)
		}
	})
}

func TestSendBatch(t *testing.T) {
	inBubble(t, func(r *rig) {
		err := r.direct.Create(r.Context(), dueq.Settings{Partitions: 3})
		r.must(err)
		batch := make([]dueq.Message, 20_000)
		for i := range batch {
			switch i % 4 {
			case 0:
				batch[i].Key = fmt.Sprint("key-", i%1000)
			case 1:
				batch[i].Body = make([]byte, 20_000)
			case 2:
				batch[i].Delay = -1
			}
		}
		results, err := r.q.SendBatch(r.Context(), batch)
		r.must(err)
		ids := map[string]bool{}
		for i, result := range results {
			var want error
			switch {
			case i%4 == 0 && i >= 1000:
				want = dueq.ErrDuplicate
			case i%4 == 2:
				want = dueq.ErrInvalid
			}
			if !errors.Is(result.Err, want) || (want == nil) != (result.ID != "") {
				r.Fatalf("message %d: %+v, want %v", i, result, want)
			}
			ids[result.ID] = true
		}
		if s := r.stats(); s.Counters.Sent != 10_250 || len(ids) != 10_251 {
			r.Errorf("%d stored, %d ids, want 10250 and the empty one", s.Counters.Sent, len(ids))
		}
		if err := results.FirstErr(); !errors.Is(err, results[2].Err) || !errors.Is(err, dueq.ErrInvalid) {
			r.Errorf("the first error is %v", err)
		}
	})
}

func TestSendBatch_NoMessagesMakeNoCall(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.net.set(everything(refused))
		results, err := r.q.SendBatch(r.Context(), nil)
		if err != nil || len(results) != 0 || results.FirstErr() != nil {
			r.Errorf("%v, %v", results, err)
		}
	})
}

func TestSendSeq(t *testing.T) {
	inBubble(t, func(r *rig) {
		taken := 0
		messages := func(yield func(dueq.Message) bool) {
			for i := range 12_000 {
				taken++
				m := dueq.Message{Body: fmt.Append(nil, i)}
				if i == 7000 {
					m.Delay = -1
				}
				if !yield(m) {
					return
				}
			}
		}
		n := 0
		for result := range r.q.SendSeq(r.Context(), messages) {
			if (n == 7000) != errors.Is(result.Err, dueq.ErrInvalid) || n != 7000 && result.ID == "" {
				r.Fatalf("message %d: %+v", n, result)
			}
			if n++; taken-n > 5000 {
				r.Fatalf("%d messages were taken before the result of message %d", taken, n)
			}
		}
		if s := r.stats(); n != 12_000 || s.Counters.Sent != 11_999 {
			r.Errorf("%d results, %d stored", n, s.Counters.Sent)
		}
		taken = 0
		for range r.q.SendSeq(r.Context(), messages) {
			break
		}
		if taken > 5000 {
			r.Errorf("%d messages were taken for a caller that wanted one", taken)
		}
	})
}

func TestSendSeq_ErrorOfABatchIsThatOfEachMessage(t *testing.T) {
	inBubble(t, func(r *rig) {
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		n := 0
		for result := range r.q.SendSeq(ctx, slices.Values(make([]dueq.Message, 3))) {
			n++
			if !errors.Is(result.Err, context.Canceled) || result.ID != "" {
				r.Errorf("%+v", result)
			}
		}
		if n != 3 {
			r.Errorf("%d results, want 3", n)
		}
	})
}

func TestSend_UnknownOutcomeIsNotARefusal(t *testing.T) {
	inBubble(t, func(r *rig) {
		err := r.direct.Create(r.Context(), dueq.Settings{MaxMessages: 1})
		r.must(err)
		r.net.set(always(hangs, "push"))
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		id, err := r.q.Send(ctx, dueq.Message{})
		if id == "" || !errors.Is(err, context.DeadlineExceeded) {
			r.Errorf("id %q, error %v: want an id to ask again with", id, err)
		}
		if id, err := r.q.Send(ctx, dueq.Message{}); id != "" || !errors.Is(err, context.DeadlineExceeded) {
			r.Errorf("with an ended ctx: id %q, error %v: want no call", id, err)
		}
		r.net.set(nil)
		r.send(dueq.Message{})
		if id, err := r.q.Send(r.Context(), dueq.Message{}); id != "" || !errors.Is(err, dueq.ErrQueueFull) {
			r.Errorf("id %q, error %v: want ErrQueueFull", id, err)
		}
	})
}

func TestSend_SameIDWithOtherContentIsRefused(t *testing.T) {
	inBubble(t, func(r *rig) {
		id := r.send(dueq.Message{Body: []byte("a")})
		if again, err := r.q.Send(r.Context(), dueq.Message{ID: id, Body: []byte("a")}); again != id || err != nil {
			r.Errorf("the same again: %q, %v", again, err)
		}
		_, err := r.q.Send(r.Context(), dueq.Message{ID: id, Body: []byte("b")})
		var refusal *dueq.Error
		if !errors.Is(err, dueq.ErrDuplicate) || !errors.As(err, &refusal) || refusal.Field != "id" {
			r.Errorf("%v, want ErrDuplicate for the field id", err)
		}
	})
}

func TestSendJSON(t *testing.T) {
	inBubble(t, func(r *rig) {
		type order struct{ Number int }
		_, err := dueq.SendJSON(r.Context(), r.q, order{42}, dueq.Message{Key: "order-42"})
		r.must(err)
		var got order
		consumer := r.consume(r.q, dueq.JSON(func(_ context.Context, o order, _ *dueq.Delivery) error { got = o; return nil }), dueq.ConsumeOptions{})
		synctest.Wait()
		_, err = consumer.end()
		r.must(err)
		if got.Number != 42 {
			r.Errorf("%+v was handled", got)
		}
		_, err = dueq.SendJSON(r.Context(), r.q, order{}, dueq.Message{Body: []byte("x")})
		wantInvalid(r.T, err, "body")
		_, err = dueq.SendJSON(r.Context(), r.q, func() {}, dueq.Message{})
		wantInvalid(r.T, err, "body")
	})
}

// Reading the settings of an unknown queue asks many partitions.
func TestSend_ManyCallersReadTheSettingsOfAnUnknownQueueOnce(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.net.set(always(replyLate, "configure"))
		q := r.client.Queue("unknown")
		before := r.net.count("configure")
		gaveUp, cancel := context.WithTimeout(r.Context(), lateBy/2)
		defer cancel()
		var senders sync.WaitGroup
		for range 50 {
			senders.Go(func() {
				if _, err := q.Send(r.Context(), dueq.Message{}); err != nil {
					r.Error(err)
				}
			})
		}
		r.sleep(0) // until one of them asks, and the others wait for it
		if _, err := q.Send(gaveUp, dueq.Message{}); !errors.Is(err, context.DeadlineExceeded) {
			r.Errorf("%v, want the end of its own context", err)
		}
		senders.Wait()
		if n := r.net.count("configure") - before; n != 1 {
			r.Errorf("%d calls, want 1", n)
		}
	})
}
