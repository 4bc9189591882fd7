package storetest

import (
	"context"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

// auditStep is small, so that the audit's cursors are used.
const auditStep = 50

// Audit checks all partitions of the named queues, or of every queue, in small steps. It fails t if
// Check reports a problem or never ends, or if the counters do not match the number of messages.
func Audit(t testing.TB, s store.Store, queues ...string) {
	t.Helper()
	if len(queues) == 0 {
		queues = []string{""}
	}
	for _, queue := range queues {
		stats, err := s.Stats(context.WithoutCancel(t.Context()), queue)
		if err != nil {
			t.Errorf("audit: stats of %q: %v", queue, err)
			return
		}
		for _, st := range stats {
			auditQueue(t, s, st)
		}
	}
}

func auditQueue(t testing.TB, s store.Store, st store.Stats) {
	t.Helper()
	live := st.Scheduled + st.Ready + st.Leased + st.Dead
	if got := st.Counters.Gone() + live; got != st.Counters.Sent {
		t.Errorf("audit: queue %s: sent %d, but gone %d + live %d = %d: %+v", st.Queue, st.Counters.Sent, st.Counters.Gone(), live, got, st)
	}
	examined := 0
	for i := range st.Settings.Partitions {
		examined += auditPartition(t, s, store.Partition{Queue: st.Queue, Index: i})
	}
	if int64(examined) < live {
		t.Errorf("audit: queue %s: examined %d elements, %d messages are live", st.Queue, examined, live)
	}
}

func auditPartition(t testing.TB, s store.Store, p store.Partition) int {
	t.Helper()
	const most = 100_000 // steps: far more than the largest queue of a test needs
	examined := 0
	r := store.CheckRequest{Limit: auditStep}
	for range most {
		res, err := s.Check(context.WithoutCancel(t.Context()), p, r)
		if err != nil {
			t.Errorf("audit: %v: %v", p, err)
			return examined
		}
		for _, problem := range res.Problems {
			t.Errorf("audit: %v: %s: %s", p, problem.ID, problem.Text)
		}
		examined += res.Examined
		if res.Next == "" {
			return examined
		}
		r.Cursor = res.Next
	}
	t.Errorf("audit: %v: no end after %d steps", p, most)
	return examined
}
