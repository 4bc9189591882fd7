package producer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq/internal/producer"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// lossy is a store that loses the replies of pushes, or the pushes themselves.
type lossy struct {
	store.Store
	mu     sync.Mutex
	lose   bool // the reply
	refuse bool // the push
	hold   chan struct{}
	sizes  []int
}

func (l *lossy) Push(ctx context.Context, p store.Partition, r store.PushRequest) ([]store.PushResult, error) {
	if l.hold != nil {
		select {
		case <-l.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sizes = append(l.sizes, len(r.Messages))
	if l.refuse {
		return nil, store.ErrUnavailable
	}
	results, err := l.Store.Push(ctx, p, r)
	if l.lose {
		return nil, store.ErrUnavailable
	}
	return results, err
}

// consume receives and acks all messages, and counts the deliveries of each.
func consume(t *testing.T, s store.Store, seen map[store.ID]int) {
	t.Helper()
	result, err := s.Claim(t.Context(), to, store.ClaimRequest{
		Consumer: "c", Number: uint64(len(seen)) + 1, Max: store.MaxBatch, Lease: 1000, AckOnClaim: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range result.Deliveries {
		seen[d.Receipt.ID]++
	}
}

// together sends all messages at the same time, while an earlier push is blocked.
func together(t *testing.T, p *producer.Producer, s *lossy, all []store.Message) []producer.Outcome {
	t.Helper()
	s.hold = make(chan struct{})
	outcomes := make([]producer.Outcome, len(all))
	var sending sync.WaitGroup
	for i := range all {
		sending.Go(func() { outcomes[i] = p.Send(t.Context(), to, &all[i]) })
		synctest.Wait()
	}
	close(s.hold)
	sending.Wait()
	s.hold = nil
	return outcomes
}

func TestSend_SendersOfALostReplyRepeatOneByOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		stored bool
	}{{"it was stored", true}, {"it was not", false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &lossy{Store: embedded.NewMemory(embedded.Config{}), lose: test.stored, refuse: !test.stored}
				p, all, seen := producer.New(s, "p", time.Minute), messages(5), map[store.ID]int{}
				for i, o := range together(t, p, s, all) {
					if !errors.Is(o.Err, store.ErrUnavailable) || producer.Definite(o.Err) {
						t.Errorf("message %d: %v, want an unknown outcome", i, o.Err)
					}
				}
				s.lose, s.refuse = false, false
				if test.stored {
					consume(t, s, seen) // so that only the number shows the repetition of the push
				}
				again := []int{3, 1, 3, 2, 0} // 4 is not sent again
				for _, i := range again {
					o, known := p.Recall(t.Context(), to, all[i:i+1])[all[i].ID]
					if !known {
						o = p.Send(t.Context(), to, &all[i])
					}
					if o.Err != nil || o.Result.Code != store.CodeOK {
						t.Errorf("message %d sent again: %+v", i, o)
					}
				}
				consume(t, s, seen)
				for i, m := range all {
					want := 1
					if i == 4 && !test.stored {
						want = 0
					}
					if seen[m.ID] != want {
						t.Errorf("message %d was there %d times, want %d", i, seen[m.ID], want)
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestSend_ManySendersRepeatALostReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &lossy{Store: embedded.NewMemory(embedded.Config{}), lose: true}
		p, all, seen := producer.New(s, "p", time.Minute), messages(100), map[store.ID]int{}
		together(t, p, s, all)
		s.lose = false
		consume(t, s, seen)
		var asking sync.WaitGroup
		for i := range all {
			asking.Go(func() {
				o, known := p.Recall(t.Context(), to, all[i:i+1])[all[i].ID]
				if !known || o.Err != nil || o.Result.Code != store.CodeOK {
					t.Errorf("message %d: %+v, known: %t", i, o, known)
				}
			})
		}
		asking.Wait()
		if n := len(s.sizes); n != 4 {
			t.Errorf("pushes of %v messages, want two and one repetition of each", s.sizes)
		}
		consume(t, s, seen)
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was there %d times", id, n)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestSend_ErrorStatesWhetherTheMessageWasSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &lossy{Store: embedded.NewMemory(embedded.Config{}), hold: make(chan struct{})}
		p, all := producer.New(s, "p", time.Minute), messages(3)
		ctx, cancel := context.WithCancel(t.Context())
		outcomes := make([]producer.Outcome, len(all))
		var sending sync.WaitGroup
		for i := range all {
			sending.Go(func() { outcomes[i] = p.Send(ctx, to, &all[i]) })
			synctest.Wait()
		}
		cancel()
		sending.Wait()
		for i, o := range outcomes {
			if !errors.Is(o.Err, context.Canceled) || producer.Definite(o.Err) != (i > 0) {
				t.Errorf("message %d: %v, nothing sent for certain: %t", i, o.Err, producer.Definite(o.Err))
			}
		}
		if text := fmt.Sprint(outcomes[1].Err); text != "not sent: context canceled" {
			t.Errorf("%q", text)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
