package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
)

// events records the calls of hooks as text.
type events struct {
	mu  sync.Mutex
	all []string
}

func (e *events) add(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, fmt.Sprintf(format, args...))
}

// take returns what has been added since the last call.
func (e *events) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.all
	e.all = nil
	return all
}

func (e *events) hooks() dueq.Hooks {
	first := func(err error) string { line, _, _ := strings.Cut(fmt.Sprint(err), "\n"); return line }
	return dueq.Hooks{
		OnSend: func(s dueq.SendEvent) { e.add("send %s %s %t: %v", s.Queue, s.Key, s.ID != "", s.Err) },
		OnDeliver: func(d dueq.DeliverEvent) {
			e.add("deliver %s %s %d/%d late %s", d.Queue, d.Key, d.Attempt, d.MaxAttempts, d.Late)
		},
		OnSettle: func(s dueq.SettleEvent) {
			e.add("settle %s %s after %s: %s, %v", s.Key, s.Verdict, s.Took, first(s.Err), s.Lost)
		},
		OnFailure: func(f dueq.FailureEvent) { e.add("failure %s, again after %s: %s", f.Key, f.After, first(f.Err)) },
		OnDead:    func(d dueq.DeadEvent) { e.add("dead %s: %s", d.Key, first(d.Err)) },
		OnSkip:    func(s dueq.SkipEvent) { e.add("skip %s %s: %v, %v", s.Key, s.Verdict, s.Err, s.Lost) },
	}
}

// hooked returns the queue "work" of a client of the rig's store with hooks.
func (r *rig) hooked(o dueq.Options) *dueq.Queue {
	r.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := dueq.New(&network{Store: r.net.Store}, &o)
	r.must(err)
	r.Cleanup(func() { _ = client.Close() })
	return client.Queue("work")
}

func TestHooks_SeeTheEndOfEachDelivery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		most    int // attempts
		handler dueq.Handler
		want    []string
	}{
		{"ack", 3, func(context.Context, *dueq.Delivery) error { pass(time.Second); return nil }, []string{"settle k ack after 1s: <nil>, <nil>"}},
		{"failure", 3, func(context.Context, *dueq.Delivery) error { return errNoLuck }, []string{
			"failure k, again after 1h0m0s: no luck", "settle k nack after 0s: no luck, <nil>",
		}},
		{"last failure", 1, func(context.Context, *dueq.Delivery) error { return errNoLuck }, []string{
			"dead k: no luck", "settle k nack after 0s: no luck, <nil>",
		}},
		{"reject", 3, func(context.Context, *dueq.Delivery) error { return dueq.Reject(errNoLuck) }, []string{
			"dead k: no luck", "settle k reject after 0s: no luck, <nil>",
		}},
		{"snooze", 3, func(context.Context, *dueq.Delivery) error { return dueq.Snooze(time.Hour, "busy") }, []string{"settle k snooze after 0s: snoozed: busy, <nil>"}},
		{"drop", 3, func(context.Context, *dueq.Delivery) error { return dueq.Drop(errNoLuck) }, []string{"settle k ack after 0s: no luck, <nil>"}},
		{"panic", 3, func(context.Context, *dueq.Delivery) error { panic("oh no") }, []string{
			"failure k, again after 1h0m0s: panic: oh no", "settle k nack after 0s: panic: oh no, <nil>",
		}},
		{"settled by the handler", 3, func(ctx context.Context, d *dueq.Delivery) error {
			pass(time.Second)
			return d.Nack(ctx, time.Minute, errNoLuck)
		}, []string{
			"failure k, again after 1m0s: no luck", "settle k nack after 0s: no luck, <nil>",
		}},
	}
	for _, test := range tests {
		for _, batches := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in batches: %t", test.name, batches), func(t *testing.T) {
				inBubble(t, func(r *rig) {
					seen := &events{}
					q := r.hooked(dueq.Options{Hooks: seen.hooks()})
					r.send(dueq.Message{Key: "k", MaxAttempts: test.most, Delay: time.Minute})
					c := dueq.ConsumeOptions{Backoff: inAnHour}
					var consumer *consuming
					if batches {
						consumer = r.consumeBatch(q, func(ctx context.Context, batch []*dueq.Delivery) error { return test.handler(ctx, batch[0]) }, dueq.BatchOptions{ConsumeOptions: c})
					} else {
						consumer = r.consume(q, test.handler, c)
					}
					r.sleep(2 * time.Minute)
					_, err := consumer.end()
					r.must(err)
					want := append([]string{fmt.Sprintf("deliver work k 1/%d late 0s", test.most)}, test.want...)
					if got := seen.take(); !slices.Equal(got, want) {
						r.Errorf("seen:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				})
			})
		}
	}
}

func TestHooks_LostLeaseIsReported(t *testing.T) {
	inBubble(t, func(r *rig) {
		seen := &events{}
		q := r.hooked(dueq.Options{Hooks: dueq.Hooks{OnSettle: seen.hooks().OnSettle}})
		consumer := r.consume(q, func(ctx context.Context, _ *dueq.Delivery) error {
			if err := r.direct.Cancel(ctx, dueq.Key("k")); !errors.Is(err, dueq.ErrRunning) {
				r.Error(err)
			}
			<-ctx.Done()
			return ctx.Err()
		}, dueq.ConsumeOptions{})
		synctest.Wait() // the consumer hears events
		r.send(dueq.Message{Key: "k"})
		r.sleep(time.Minute)
		_, err := consumer.end()
		r.must(err)
		want := []string{"settle k nack after 0s: context canceled, message was cancelled"}
		if got := seen.take(); len(got) != 1 || !strings.HasPrefix(got[0], want[0][:30]) || !strings.Contains(got[0], "cancelled") {
			r.Errorf("seen %q, want %q", got, want)
		}
	})
}

func TestHooks_MessagesThatNoHandlerHasSeenAreNotSettled(t *testing.T) {
	inBubble(t, func(r *rig) {
		seen := &events{}
		q := r.hooked(dueq.Options{Hooks: seen.hooks()})
		for range 20 { // fast ones, then slow ones: some are prefetched and released
			r.send(dueq.Message{})
		}
		handled := 0
		consumer := r.consume(q, func(ctx context.Context, _ *dueq.Delivery) error {
			if handled++; handled > 5 {
				<-ctx.Done()
			}
			return nil
		}, dueq.ConsumeOptions{Concurrency: 1, Grace: time.Second})
		r.sleep(time.Minute)
		_, err := consumer.end()
		r.must(err)
		delivers, settles := 0, 0
		for _, event := range seen.take() {
			switch {
			case strings.HasPrefix(event, "deliver"):
				delivers++
			case strings.HasPrefix(event, "settle"):
				settles++
			}
		}
		if delivers != settles || delivers != handled {
			r.Errorf("%d delivered, %d settled, %d handled", delivers, settles, handled)
		}
	})
}

func TestHooks_SeeSends(t *testing.T) {
	inBubble(t, func(r *rig) {
		seen := &events{}
		q := r.hooked(dueq.Options{Hooks: seen.hooks()})
		_, err := q.Send(r.Context(), dueq.Message{Key: "a"})
		r.must(err)
		results, err := q.SendBatch(r.Context(), []dueq.Message{{Key: "b"}, {Key: "a"}})
		r.must(err)
		want := []string{
			"send work a true: <nil>", "send work b true: <nil>", fmt.Sprintf("send work a false: %v", results[1].Err),
		}
		if got := seen.take(); !slices.Equal(got, want) {
			r.Errorf("seen %q, want %q", got, want)
		}
	})
}

func TestSendMiddleware_WrapsSendAndSendBatch(t *testing.T) {
	inBubble(t, func(r *rig) {
		var order []string
		tag := func(name string) dueq.SendMiddleware {
			return func(next dueq.SendFunc) dueq.SendFunc {
				return func(ctx context.Context, queue string, messages []dueq.Message) (dueq.SendResults, error) {
					order = append(order, fmt.Sprint(name, " ", queue, " ", len(messages)))
					for i := range messages {
						messages[i].Headers["trace"] += name
					}
					return next(ctx, queue, messages)
				}
			}
		}
		q := r.hooked(dueq.Options{SendMiddleware: []dueq.SendMiddleware{tag("a"), tag("b")}})
		own := map[string]string{"trace": ""}
		id, err := q.Send(r.Context(), dueq.Message{Headers: own})
		r.must(err)
		results, err := q.SendBatch(r.Context(), []dueq.Message{{Headers: own}, {Headers: own}})
		r.must(err)
		for _, id := range []string{id, results[0].ID, results[1].ID} {
			if got := r.get(id).Headers["trace"]; got != "ab" {
				r.Errorf("the header is %q", got)
			}
		}
		if own["trace"] != "" {
			r.Error("the caller's headers were changed")
		}
		if want := []string{"a work 1", "b work 1", "a work 2", "b work 2"}; !slices.Equal(order, want) {
			r.Errorf("%q, want %q", order, want)
		}
	})
}

func TestSendMiddleware_CanRefuse(t *testing.T) {
	inBubble(t, func(r *rig) {
		q := r.hooked(dueq.Options{SendMiddleware: []dueq.SendMiddleware{func(next dueq.SendFunc) dueq.SendFunc {
			return func(ctx context.Context, queue string, messages []dueq.Message) (dueq.SendResults, error) {
				if len(messages[0].Body) == 0 {
					return nil, errNoLuck
				}
				results, err := next(ctx, queue, messages)
				return results[:0], err
			}
		}}})
		if id, err := q.Send(r.Context(), dueq.Message{}); id != "" || !errors.Is(err, errNoLuck) {
			r.Errorf("%q, %v", id, err)
		}
		_, err := q.Send(r.Context(), dueq.Message{Body: []byte("1")})
		wantInvalid(r.T, err, "send middleware")
		_, err = dueq.NewMemory(&dueq.Options{SendMiddleware: []dueq.SendMiddleware{nil}})
		wantInvalid(r.T, err, "send middleware")
	})
}

func TestConsume_FailuresAreLoggedWithABound(t *testing.T) {
	inBubble(t, func(r *rig) {
		log := &safeBuffer{}
		q := r.hooked(dueq.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
		for i := range 40 {
			r.send(dueq.Message{Key: fmt.Sprint("key-", i), Body: []byte("the body"), MaxAttempts: 1 + i%2})
		}
		consumer := r.consume(q, func(context.Context, *dueq.Delivery) error { return errNoLuck }, dueq.ConsumeOptions{Backoff: inAnHour})
		synctest.Wait()
		_, err := consumer.end()
		r.must(err)
		for line, n := range map[string]int{
			`level=WARN msg="dueq: delivery failed, the message is delivered again" queue=work id=`:            10,
			`level=WARN msg="dueq: delivery failed, the message is delivered again (lines left out)" lines=10`: 1,
			`level=ERROR msg="dueq: message is dead" queue=work id=`:                                           10,
			`level=ERROR msg="dueq: message is dead (lines left out)" lines=10`:                                1,
			`error="no luck" "due in"=1h0m0s`:                                                                  10,
			"key=key-":                                                                                         20,
			"attempt=1":                                                                                        20,
			"the body":                                                                                         0,
		} {
			if got := strings.Count(log.String(), line); got != n {
				r.Errorf("%d times, want %d: %s\n%s", got, n, line, log.String())
			}
		}
	})
}

func TestHooks_SeeSkippedOccurrences(t *testing.T) {
	t.Parallel()
	ok := func(context.Context, *dueq.Delivery) error { return nil }
	receivers := map[string]func(*rig, *dueq.Queue){
		"Consume": func(r *rig, q *dueq.Queue) {
			consumer := r.consume(q, ok, dueq.ConsumeOptions{})
			r.sleep(30 * time.Second) // a crash delays a message by up to 10 s
			_, err := consumer.end()
			r.must(err)
		},
		"ConsumeBatch": func(r *rig, q *dueq.Queue) {
			consumer := r.consumeBatch(q, func(context.Context, []*dueq.Delivery) error { return nil }, dueq.BatchOptions{})
			r.sleep(30 * time.Second)
			_, err := consumer.end()
			r.must(err)
		},
		"AtMostOnce": func(r *rig, q *dueq.Queue) {
			consumer := r.consume(q, ok, dueq.ConsumeOptions{AtMostOnce: true})
			r.sleep(30 * time.Second)
			_, err := consumer.end()
			r.must(err)
		},
		"Receive": func(r *rig, q *dueq.Queue) {
			all, err := q.Receive(r.Context(), dueq.ReceiveOptions{Wait: 30 * time.Second})
			r.must(err)
			if len(all) > 0 {
				r.Errorf("received %+v, want none", all)
			}
		},
	}
	cases := []struct {
		name string
		skip func(*rig)
		want string
	}{
		{"missed", func(r *rig) { r.sleep(150 * time.Minute) }, "skip k ack: missed: the next time of its schedule has come, <nil>"},
		{"last attempt lost", func(r *rig) {
			r.sleep(time.Hour)
			if _, err := r.q.Receive(r.Context(), dueq.ReceiveOptions{Lease: time.Second}); err != nil {
				r.Fatal(err)
			}
			r.sleep(time.Minute)
		}, "skip k reject: its last lease ran out on its last attempt, <nil>"},
	}
	for name, receive := range receivers {
		for _, test := range cases {
			t.Run(name+", "+test.name, func(t *testing.T) {
				inBubble(t, func(r *rig) {
					r.send(dueq.Message{Key: "k", Repeat: hourly, MaxAttempts: 1})
					test.skip(r)
					seen := &events{}
					receive(r, r.hooked(dueq.Options{Hooks: seen.hooks()}))
					if got := seen.take(); !slices.Equal(got, []string{test.want}) {
						r.Errorf("the hooks saw %q, want %q", got, test.want)
					}
				})
			})
		}
	}
}

// An occurrence that is skipped while the store does not answer is judged again later.
func TestHooks_SkipThatWasNotStoredIsLost(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(dueq.Message{Key: "k", Repeat: hourly})
		r.sleep(150 * time.Minute)
		seen := &events{}
		hooks := seen.hooks()
		var lost error
		hooks.OnSkip = func(s dueq.SkipEvent) { lost = s.Lost }
		client, err := dueq.New(r.net, &dueq.Options{Hooks: hooks, Logger: slog.New(slog.DiscardHandler)})
		r.must(err)
		r.Cleanup(func() { _ = client.Close() })
		r.net.set(func(op string) fault {
			if op == "again" {
				return refused
			}
			return works
		})
		_, err = client.Queue("work").Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		if !errors.Is(lost, dueq.ErrUnavailable) {
			r.Errorf("the hook saw %v, want ErrUnavailable", lost)
		}
	})
}
