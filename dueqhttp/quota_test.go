package dueqhttp

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestQuotas_MemoryHasABound(t *testing.T) {
	t.Parallel()
	q, now := newQuotas("address", 1), time.Now()
	for range leastBurst {
		if err := q.take("busy", now); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 * mostRated {
		if err := q.take(fmt.Sprint(i), now); err != nil {
			t.Fatalf("the first request of caller %d: %v", i, err)
		}
		if i%(mostRated/2) == 0 {
			if err := q.take("busy", now); err == nil {
				t.Fatalf("after %d others a caller that goes on was forgotten", i)
			}
		}
	}
	if n := len(q.young) + len(q.old); n > 2*mostRated {
		t.Errorf("%d callers are remembered, want at most %d", n, 2*mostRated)
	}
}

func TestQuotas_WaitIsUntilTheNextRequestIsServed(t *testing.T) {
	t.Parallel()
	q, now := newQuotas("token", 0.1), time.Now()
	for range leastBurst {
		if err := q.take("a", now); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // those that are refused take nothing from the next
		e, ok := errors.AsType[*rateError](q.take("a", now.Add(3*time.Second)))
		if !ok {
			t.Fatal("a request too many was served")
		}
		if p := e.problem(); p.retryAfter != 7 || p.Field != "token" || p.Value != "a" || p.Limit != "0.1 requests per second" {
			t.Errorf("%+v, %d s", p, p.retryAfter)
		}
	}
	if err := q.take("a", now.Add(10*time.Second)); err != nil {
		t.Error(err)
	}
}
