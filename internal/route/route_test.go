package route

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The partition of a key must not change: with another hash, a second message with the key could
// be stored in another partition while the first is live.
func TestByKey_MappingIsFixed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key        string
		partitions int
		want       int
	}{{"order-42", 1, 0}, {"order-42", 16, 2}, {"order-42", 1024, 694}, {"", 1024, 332}, {"ü日", 7, 2}} {
		if got := ByKey(c.key, c.partitions); got != c.want {
			t.Errorf("ByKey(%q, %d) = %d, want %d", c.key, c.partitions, got, c.want)
		}
	}
}

// When a queue grows, a key stays where it is or moves to one of the new partitions.
func TestByKey_GrowingMovesKeysOnlyToNewPartitions(t *testing.T) {
	t.Parallel()
	const keys = 10_000
	for _, c := range [][2]int{{1, 2}, {2, 8}, {7, 8}, {16, 1024}} {
		moved := 0
		for i := range keys {
			key := fmt.Sprintf("order-%d", i)
			before, after := ByKey(key, c[0]), ByKey(key, c[1])
			if before == after {
				continue
			}
			if moved++; after < c[0] {
				t.Fatalf("%s moves from %d to %d, which is not new, when %d partitions become %d", key, before, after, c[0], c[1])
			}
		}
		if want := keys * (c[1] - c[0]) / c[1]; moved < want*9/10 || moved > want*11/10 {
			t.Errorf("%d of %d keys move when %d partitions become %d, want about %d", moved, keys, c[0], c[1], want)
		}
	}
}

func TestByKey_KeysAreSpread(t *testing.T) {
	t.Parallel()
	const partitions, keys = 16, 16_000
	counts := make([]int, partitions)
	for i := range keys {
		counts[ByKey(fmt.Sprintf("order-%d", i), partitions)]++
	}
	for p, n := range counts {
		if n < keys/partitions*8/10 || n > keys/partitions*12/10 {
			t.Errorf("partition %d has %d of %d keys", p, n, keys)
		}
	}
}

func TestNewID_GrowsAndHasThePartition(t *testing.T) {
	t.Parallel()
	var last store.ID
	for i := range 5000 {
		partition := (i * 37) % store.MaxPartitions
		id := NewID(partition)
		if id.Partition() != partition {
			t.Fatalf("id of partition %d says %d", partition, id.Partition())
		}
		if bytes.Compare(id[:], last[:]) <= 0 {
			t.Fatalf("%v does not come after %v", id, last)
		}
		if back, err := store.ParseID(id.String()); err != nil || back != id {
			t.Fatalf("%v reads as %v, %v", id, back, err)
		}
		last = id
	}
	if made := time.UnixMilli(last.Time()); time.Since(made).Abs() > time.Minute {
		t.Errorf("the id says it was made at %v", made)
	}
}

func TestNewID_IsUnique(t *testing.T) {
	t.Parallel()
	const goroutines, each = 8, 2000
	all := make([][]store.ID, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range each {
				all[g] = append(all[g], NewID(0))
			}
		})
	}
	wg.Wait()
	seen := make(map[store.ID]bool, goroutines*each)
	for _, ids := range all {
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("%v was made twice", id)
			}
			seen[id] = true
		}
	}
}

// The random bits of two ids are the same only by chance, which is 1 in 2^46.
func TestIDs_HaveRandomBitsOfTheirOwn(t *testing.T) {
	t.Parallel()
	const goroutines, each = 8, 2000
	var ids IDs
	all := make([][]store.ID, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range each {
				all[g] = append(all[g], ids.New(3))
			}
		})
	}
	wg.Wait()
	seen := map[[6]byte]bool{}
	for g, made := range all {
		for i, id := range made {
			if id.Partition() != 3 || i > 0 && bytes.Compare(id[:], made[i-1][:]) <= 0 {
				t.Fatalf("goroutine %d: %v after %v", g, id, made[max(i, 1)-1])
			}
			if _, err := store.ParseID(id.String()); err != nil {
				t.Fatal(err)
			}
			random := [6]byte(id[8:14])
			random[0] &= 0x3f // without the variant
			if seen[random] {
				t.Fatalf("%v has the random bits of another", id)
			}
			seen[random] = true
		}
	}
}

func TestFollowingID_IsTheSameEachTimeAndAnID(t *testing.T) {
	t.Parallel()
	parent := NewID(3)
	seen := map[store.ID]bool{}
	for _, of := range []store.ID{parent, NewID(3)} {
		for occurrence := range int64(3) {
			for index := range 3 {
				id := FollowingID(of, occurrence, index, 7)
				if seen[id] || id != FollowingID(of, occurrence, index, 7) {
					t.Errorf("%s for occurrence %d, index %d", id, occurrence, index)
				}
				seen[id] = true
				if id.Partition() != 7 || id.Time() != of.Time() || id[6]>>4 != 7 || id[8]>>6 != 2 {
					t.Errorf("%s (% x) is no id of partition 7 with the time of %s", id, id[:], of)
				}
				if _, err := store.ParseID(id.String()); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
