package embedded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// While the space on the disk is scarce, what ends is removed, or a full disk would not
// drain.
func TestHistory_FullDiskKeepsNoMore(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	d := faultdisk.New()
	d.Capacity = smallDisk
	r := fullRig(t, d)
	history, most := int64(3_600_000), int64(store.MaxHistory)
	r.configure(store.Change{History: &history, MaxHistory: &most})
	n := r.pushUntilFull(1, 50, 10_000)
	if got := r.drain(50); got != n-1 {
		t.Errorf("%d of %d were delivered", got, n-1)
	}
	if done := r.stats().Done; done != 0 {
		t.Errorf("%d are kept as done, want none", done)
	}
	for range 3 {
		r.must(r.care.round(t.Context()))
	}
	r.push(message(n))
	if got := r.drain(1); got != 1 || r.stats().Done != 1 {
		t.Errorf("%d delivered, %d kept as done when there is space again, want 1 of each", got, r.stats().Done)
	}
}

// What done messages take in the log is given back when they are removed, also after the
// store was opened again.
func TestHistory_BytesAreGivenBack(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := onFaultdisk(t, d, Config{})
	history, most := int64(3_600_000), int64(3)
	r.configure(store.Change{History: &history, MaxHistory: &most})
	for n := 1; n <= 5; n++ {
		m := message(n)
		m.Body = []byte(strings.Repeat("b", 1000))
		r.push(m)
		r.settle(store.Ack, store.Settlement{Receipt: r.claimN(1).Deliveries[0].Receipt})
	}
	purgeAll(t, r.Store, r.p, store.Done)
	for _, s := range []*rig{r, afterPowerCut(t, d)} {
		if bytes, messages := s.live.bytes.Load(), s.live.messages.Load(); bytes != 0 || messages != 0 {
			t.Errorf("%d bytes of %d messages are needed, want none", bytes, messages)
		}
		mustClose(t, s.Store)
	}
}

// On a full disk a call has the bytes that it asked for and no more, so messages that become done
// take no more than that: in place of others with their ids, with names that are remembered, and
// each pushing out one.
func TestHistory_EndsTakeNoMoreThanWasAskedFor(t *testing.T) {
	t.Parallel()
	const many = store.MaxBatch
	tests := []struct {
		name    string
		prepare func(*rig, []store.Delivery)
		asked   int
		end     func(*rig, []store.Delivery)
	}{
		{"ack", nil, settleEffort(settleRequest(many), 0).size, func(r *rig, held []store.Delivery) {
			r.settle(store.Ack, settlements(held)...)
		}},
		{"release of cancelled ones", (*rig).cancelAll, settleEffort(settleRequest(many), 0).size, func(r *rig, held []store.Delivery) {
			r.settle(store.Release, settlements(held)...)
		}},
		{"cancel", func(r *rig, held []store.Delivery) { r.settle(store.Release, settlements(held)...) }, moveEffort(many).size, (*rig).cancelAll},
		{"lease ran out of cancelled ones", (*rig).cancelAll, claimEffort(&store.ClaimRequest{Max: 1}).size, func(r *rig, _ []store.Delivery) {
			r.clock.move(1_000_000_000_000)
			r.claimN(1)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := fullRig(t, faultdisk.New())
			r.p = store.Partition{Queue: strings.Repeat("q", store.MaxQueueName)}
			r.configure(store.Change{Create: true, History: new(int64(3_600_000)), MaxHistory: new(int64(2 * many))})
			for _, first := range []int{1, many + 1} {
				r.push(messagesFrom(first, many, false)...)
				r.settle(store.Ack, settlements(r.claimN(many).Deliveries)...)
			}
			r.configure(store.Change{MaxHistory: new(int64(1))})
			r.push(messagesFrom(many+1, many, true)...)
			held := r.claimN(many).Deliveries
			if test.prepare != nil {
				test.prepare(r, held)
			}
			before, began := r.stats().Done, r.log.End()
			test.end(r, held)
			if took := int(r.log.End() - began); took > test.asked {
				t.Errorf("took %d bytes of the log, asked for %d", took, test.asked)
			}
			if len(held) != many || before <= r.stats().Done {
				t.Errorf("%d messages ended, %d and then %d done: want each to push out another", len(held), before, r.stats().Done)
			}
		})
	}
}

func settleRequest(n int) *store.SettleRequest {
	return &store.SettleRequest{Items: make([]store.Settlement, n)}
}

func settlements(held []store.Delivery) []store.Settlement {
	items := make([]store.Settlement, len(held))
	for i, d := range held {
		items[i].Receipt = d.Receipt
	}
	return items
}

// messagesFrom returns n messages with numbers from first on; named: with names that are
// remembered.
func messagesFrom(first, n int, named bool) []store.Message {
	all := make([]store.Message, n)
	for i := range all {
		if all[i] = message(first + i); named {
			all[i].DedupID, all[i].Remember = store.NewDedupID(fmt.Sprint(i)), 3_600_000
		}
	}
	return all
}

func (r *rig) cancelAll(held []store.Delivery) {
	r.Helper()
	refs := make([]store.Ref, len(held))
	for i, d := range held {
		refs[i].ID = d.Receipt.ID
	}
	_, err := r.Cancel(r.Context(), r.p, r.cancelRequest(refs...))
	r.must(err)
}
