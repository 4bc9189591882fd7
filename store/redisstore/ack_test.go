package redisstore

import (
	"fmt"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

// TestAck_ReceiptsOldAndNew checks that each receipt of a batch gets the code that it would get in a
// call of its own, whether or not the script has to read a record for it.
func TestAck_ReceiptsOldAndNew(t *testing.T) {
	t.Parallel()
	for _, keyed := range []bool{false, true} {
		t.Run(fmt.Sprint("keyed=", keyed), func(t *testing.T) {
			t.Parallel()
			r := sharedRig(t)
			ms := r.messages(5, 10)
			for i := range ms {
				if keyed {
					ms[i].Key = fmt.Sprint("key-", i)
				}
			}
			r.push(ms...)
			old := r.claim(5)
			r.settle(store.Release, old[:3]...)
			now := r.claim(3)                                            // 0, 1 and 2 again
			r.settle(store.Release, now[2])                              // so 2 is due
			r.settle(store.Reject, old[3])                               // 3 is dead
			codes := r.settle(store.Ack, old[0], now[0], old[0], now[0], // stale, held, stale, twice
				now[1], old[1], now[2], old[3], old[4])
			r.want("codes", codes, []store.Code{
				store.CodeLeaseLost, store.CodeOK, store.CodeGone, store.CodeGone,
				store.CodeOK, store.CodeGone, store.CodeLeaseLost, store.CodeLeaseLost, store.CodeOK,
			})
			r.want("again", r.settle(store.Ack, now[0], old[4]), []store.Code{store.CodeGone, store.CodeGone})
			c := r.stats().Counters
			r.want("acked", c.Acked, 3)
			r.wantClean()
		})
	}
}
