package embedded

import (
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// While the space on the disk is scarce, what ends is removed, or a full disk would not
// drain.
func TestHistory_FullDiskKeepsNoMore(t *testing.T) {
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
