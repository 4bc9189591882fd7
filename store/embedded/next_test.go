package embedded

import (
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// On a full disk a delivery whose message cannot be stored keeps its lease, and one with nothing
// new to store is settled all the same.
func TestNext_FullDiskRefusesWhatIsNew(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	d := faultdisk.New()
	d.Capacity = smallDisk
	r := fullRig(t, d)
	n := r.pushUntilFull(1, 100, 8000)
	got := r.insistClaim(2)
	if len(got) != 2 {
		t.Fatalf("%d deliveries, want 2", len(got))
	}
	isNew, isThere := message(n+1), message(n-1)
	isNew.Body = make([]byte, 900<<10)
	codes := r.settle(store.Next,
		store.Settlement{Receipt: got[0].Receipt, Messages: []store.Message{isNew}},
		store.Settlement{Receipt: got[1].Receipt, Messages: []store.Message{isThere}})
	if codes[0] != store.CodeFull || codes[1] != store.CodeOK {
		t.Errorf("codes %v, want full, ok", codes)
	}
	if s := r.stats(); s.Leased != 1 || s.Ready != int64(n-3) || s.Counters.Acked != 1 {
		t.Errorf("%d leased, %d ready, %d acked, want 1, %d, 1", s.Leased, s.Ready, s.Counters.Acked, n-3)
	}
	if found := r.audit(); len(found) > 0 {
		t.Errorf("the audit found %v", found)
	}
}
