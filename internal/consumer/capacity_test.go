package consumer

import (
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// With many partitions a claim may have more than its partition's share of the permits, because a call
// for a few messages costs nearly as much as one for hundreds.
func TestCapacity_ClaimsAreAsLargeWithManyPartitions(t *testing.T) {
	t.Parallel()
	const partitions, prefetch = 16, 500
	c := newCapacity(&Config{Partitions: partitions, Concurrency: 10, Prefetch: prefetch, PrefetchBytes: 1 << 20})
	c.worked(time.Microsecond)
	total := 0
	for i := range partitions {
		if _, n := c.ask(i, store.MaxBatch); n > 0 {
			if n < prefetch/2 {
				t.Errorf("a claim of partition %d may have %d permits, want %d or none", i, n, prefetch/2)
			}
			total += n
		}
	}
	if total < prefetch {
		t.Errorf("claims have %d permits in all, want %d", total, prefetch)
	}
}
