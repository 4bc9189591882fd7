package embedded

import (
	"errors"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// A dead letter of an occurrence takes the space of another message. Without it the delivery
// stays what it was, and nothing of what others need is used up.
func TestSettle_FullDiskMakesNoLetterUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	d.Capacity = smallDisk
	r := fullRig(t, d)
	series := message(1)
	series.Key, series.Repeat, series.Body = "k", "every 1h", []byte(strings.Repeat("b", 1<<20))
	r.push(series)
	held := r.claimN(1).Deliveries[0]
	n := r.pushUntilFull(2, 50, 10_000)
	n = r.pushUntilFull(n, 1, 100)
	item := store.Settlement{
		Receipt: held.Receipt, Failure: "no luck", Letter: id(1_000_000),
		Next: &store.Occurrence{Due: r.clock.Now().UnixMilli() + 3_600_000, Repeat: series.Repeat},
	}
	request := store.SettleRequest{Verdict: store.Reject, Items: []store.Settlement{item}}
	if codes, err := r.Settle(t.Context(), r.p, request); !errors.Is(err, store.ErrQueueFull) {
		t.Fatalf("on a full disk: %v, %v, want ErrQueueFull", codes, err)
	}
	if rec, err := r.Get(t.Context(), r.p, store.Ref{ID: series.ID}); err != nil || rec.State != store.Leased {
		t.Fatalf("%s, %v, want it leased still", rec.State, err)
	}
	if got := r.drain(50); got != n-2 {
		t.Errorf("%d of %d others were delivered", got, n-2)
	}
	for range 3 {
		r.must(r.care.round(t.Context()))
	}
	codes, err := r.Settle(t.Context(), r.p, request)
	r.must(err)
	letter, err := r.Get(t.Context(), r.p, store.Ref{ID: item.Letter})
	r.must(err)
	if codes[0] != store.CodeOK || letter.State != store.Dead || len(letter.Body) != len(series.Body) {
		t.Errorf("%s, a %s letter of %d bytes, want ok and the message's body", codes[0], letter.State, len(letter.Body))
	}
}
