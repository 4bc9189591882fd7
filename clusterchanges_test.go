package dueq_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
)

// The full form of these tests is `make topology`.
var (
	slotMoves   = flag.Int("cluster.moves", 12, "slots that move under load")
	clusterSpan = flag.Duration("cluster.span", time.Second, "how long each trouble of a Cluster lasts")
)

// sendEvery is how often a message is sent to each partition.
const sendEvery = 20 * time.Millisecond

// TestCluster_ChangesUnderLoad changes a Cluster while each partition is sent to and consumed. All
// acknowledged messages are handled, each once, and the audit finds no problem.
func TestCluster_ChangesUnderLoad(t *testing.T) {
	t.Parallel()
	f := startFleet(t, "everysec")
	f.run(sendEvery)
	f.measure(time.Second / 4)
	f.moveSlots(*slotMoves)
	f.flushScripts(*clusterSpan)
	f.keepSlotOpen(*clusterSpan)
	f.end()
	report, err := f.queue.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Errorf("check: %s: %s", p.ID, p.Text)
	}
	t.Logf("%d messages handled once each", f.seen.distinct())
}

func (f *fleet) setBroken(partitions ...int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = partitions
}

// moveSlots moves the slots of all partitions again and again, key by key. Before the next move,
// something is stored on the partition and delivered from it.
func (f *fleet) moveSlots(n int) {
	f.Helper()
	var longest time.Duration
	for i := range n {
		f.setBroken(i % somePartitions)
		redistest.MoveSlot(f, f.nodes, f.key(f.queue.Name(), i%somePartitions, "msg"))
		longest = max(longest, f.recovered())
	}
	f.Logf("%d slots moved, served again after %s at most", n, longest.Round(time.Millisecond))
}

// flushScripts makes all masters forget their scripts every 50 ms.
func (f *fleet) flushScripts(span time.Duration) {
	f.Helper()
	f.setBroken()
	end := time.NewTimer(span)
	defer end.Stop()
	flush := time.NewTicker(50 * time.Millisecond)
	defer flush.Stop()
	before, flushes := f.healthySent(), 0
	for running := true; running; {
		select {
		case <-flush.C:
			err := f.rdb.ForEachMaster(f.Context(), func(ctx context.Context, rdb *redis.Client) error {
				return rdb.ScriptFlush(ctx).Err()
			})
			if err != nil {
				f.Fatal(err)
			}
			flushes++
		case <-end.C:
			running = false
		}
	}
	sent := f.healthySent() - before
	f.Logf("scripts flushed %d times in %s, %d messages sent meanwhile", flushes, span, sent)
	if usual := somePartitions * int(span/sendEvery); sent < usual/4 {
		f.Errorf("%d messages sent while scripts were flushed, want a quarter of %d at least", sent, usual)
	}
}

// keepSlotOpen moves one key of a slot, and the others after a span.
func (f *fleet) keepSlotOpen(span time.Duration) {
	f.Helper()
	f.setBroken(0)
	before := f.measure(span)
	records := f.key(f.queue.Name(), 0, "msg") // which the scripts for sends, claims and acks use
	slot := redistest.OpenSlot(f, f.nodes, records)
	slot.Migrate(records)
	stored := f.stored[0].Load()
	during := f.measure(span)
	if n := f.stored[0].Load() - stored; n > 1 { // one may have been stored before the slot was open
		f.Errorf("%d messages stored in a slot whose keys are on two masters", n)
	}
	slot.MigrateRest()
	slot.Close()
	f.Logf("a slot half open: before %s; during %s; served again after %s", before, during, f.recovered().Round(time.Millisecond))
	if during.sent < before.sent/4 || during.handled < before.handled/4 {
		f.Error("want a quarter of the rate before at least, on the other partitions")
	}
}
