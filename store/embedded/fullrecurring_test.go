package embedded

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// A dead letter of an occurrence takes the space of another message. Without it the delivery
// stays what it was, and nothing of what others need is used up.
func TestSettle_FullDiskMakesNoLetterUntilThereIsSpace(t *testing.T) {
	skipIfShort(t)
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

// On a full disk a call has the bytes that it asked for and no more, so a letter takes no more
// than that: with the longest text, that of the call or one of before, and with bodies and
// headers of any size.
func TestSettle_LetterTakesNoMoreThanWasAskedFor(t *testing.T) {
	t.Parallel()
	const many = 100
	long := strings.Repeat("f", store.MaxFailure)
	for _, texts := range [][2]string{{"", ""}, {"", long}, {long, ""}} {
		for _, size := range []int{0, 10, 5_000} {
			r := fullRig(t, faultdisk.New())
			r.p = store.Partition{Queue: strings.Repeat("q", store.MaxQueueName), Index: store.MaxPartitions - 1}
			var items, failures []store.Settlement
			for n := 1; n <= many; n++ {
				m := message(n)
				m.Key, m.Repeat, m.Body = strings.Repeat("k", store.MaxKey-3)+fmt.Sprintf("%03d", n), "r", make([]byte, size)
				r.push(m)
			}
			for _, d := range r.claimN(many).Deliveries {
				failures = append(failures, store.Settlement{Receipt: d.Receipt, Failure: texts[0]})
			}
			r.settle(store.Nack, failures...)
			for i, d := range r.claimN(many).Deliveries {
				items = append(items, store.Settlement{
					Receipt: d.Receipt, Failure: texts[1], Letter: id(1_000_000 + i),
					Next: &store.Occurrence{Due: r.clock.Now().UnixMilli() + 3_600_000, Repeat: d.Repeat},
				})
			}
			request := store.SettleRequest{Verdict: store.Reject, Items: items}
			part := r.inner()
			before, asked := r.log.End(), settleEffort(&request, part.lettersSize(&request)).size
			r.settle(request.Verdict, items...)
			if took := int(r.log.End() - before); took > asked || r.stats().Dead != many {
				t.Errorf("bodies of %d bytes, texts of %d and %d: took %d bytes, asked for %d; %d letters, want %d",
					size, len(texts[0]), len(texts[1]), took, asked, r.stats().Dead, many)
			}
		}
	}
}
