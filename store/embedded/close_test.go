package embedded

import (
	"context"
	"flag"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// Stores are closed under load just when a segment is begun, and opened again:
//
//	go test ./store/embedded -run TestClose_ -v -embedded.closes 2500

var closes = flag.Int("embedded.closes", 50, "embedded: how often each variant of TestClose_WhileASegmentBegins closes a store")

// beginDisk notifies when a segment gets its name.
type beginDisk struct {
	disk.Disk
	begun chan struct{}
}

func (d *beginDisk) Rename(from, to string) error {
	err := d.Disk.Rename(from, to)
	if strings.HasSuffix(to, ".log") {
		select {
		case d.begun <- struct{}{}:
		default: // the test does not wait for it
		}
	}
	return err
}

func TestClose_WhileASegmentBegins(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		dir    bool
		merges bool
	}{{"memory", false, false}, {"memory, merging", false, true}, {"directory", true, false}, {"directory, merging", true, true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := &beginDisk{Disk: faultdisk.New(), begun: make(chan struct{})}
			if tt.dir {
				dir, err := disk.OpenDir(filepath.Join(t.TempDir(), "store"))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = dir.Close() }()
				d.Disk = dir
			}
			c := &closer{t: t, disk: d, merges: tt.merges, rng: rand.New(rand.NewPCG(1, 2))}
			for range *closes {
				c.round()
			}
			t.Logf("%d closes, %d messages", *closes, c.next)
		})
	}
}

// closer opens, fills and closes one store again and again.
type closer struct {
	t      *testing.T
	disk   *beginDisk
	merges bool
	rng    *rand.Rand
	purges uint64

	mu   sync.Mutex
	next int // number of the last message
	sent []store.ID
}

func (c *closer) round() {
	c.t.Helper()
	s, err := openOn(c.t.Context(), c.disk, Config{Logger: quiet}, tuning{byHand: true, segmentSize: smallSegments})
	if err != nil {
		c.t.Fatalf("open after %d messages: %v", c.next, err)
	}
	c.check(s)
	ctx, cancel := context.WithCancel(c.t.Context())
	var users sync.WaitGroup
	const senders = 4
	for n := range senders {
		users.Go(func() { c.send(ctx, s, store.Partition{Queue: "q", Index: n}) })
	}
	var caretaker sync.WaitGroup
	if c.merges {
		caretaker.Go(func() { mergeUntil(ctx, s) })
	}
	<-c.disk.begun
	for range c.rng.IntN(200) {
		runtime.Gosched()
	}
	cancel()
	caretaker.Wait() // as with the store's own, which ends before the log is closed
	mustClose(c.t, s)
	users.Wait()
}

func mergeUntil(ctx context.Context, s *Store) {
	for ctx.Err() == nil {
		if oldest, active := s.care.log.Ends(); oldest == active {
			_ = s.care.log.Roll()
		} else {
			_ = s.care.merge(ctx, oldest)
		}
	}
}

// send pushes until the store is closed.
func (c *closer) send(ctx context.Context, s *Store, p store.Partition) {
	ctx = context.WithoutCancel(ctx)
	for {
		c.mu.Lock()
		c.next++
		m, number := message(c.next), uint64(c.next)
		c.mu.Unlock()
		m.ID[15] = byte(p.Index)
		m.Body = make([]byte, 700)
		if _, err := s.Push(ctx, p, store.PushRequest{Producer: "p", Number: number, Messages: []store.Message{m}}); err != nil {
			return
		}
		c.mu.Lock()
		c.sent = append(c.sent, m.ID)
		c.mu.Unlock()
	}
}

// check makes sure that everything sent is there, and empties the store.
func (c *closer) check(s *Store) {
	c.t.Helper()
	for _, id := range c.sent {
		p := store.Partition{Queue: "q", Index: int(id[15])}
		if _, err := s.Get(c.t.Context(), p, store.Ref{ID: id}); err != nil {
			c.t.Fatalf("message %v was sent and is lost: %v", id, err)
		}
	}
	c.sent = c.sent[:0]
	for _, p := range s.allPartitions() {
		part := store.Partition{Queue: p.queue.name, Index: p.index}
		c.purge(s, part)
	}
	_, last := s.care.log.Ends()
	for oldest, _ := s.care.log.Ends(); oldest < last; oldest, _ = s.care.log.Ends() {
		if err := s.care.merge(c.t.Context(), oldest); err != nil {
			c.t.Fatal(err)
		}
	}
}

// purge removes all messages, always as the same caller: a store remembers each of them for
// an hour, and those of thousands of rounds would fill segments.
func (c *closer) purge(s *Store, p store.Partition) {
	c.t.Helper()
	for {
		c.purges++
		r := store.PurgeRequest{Caller: "closer", Number: c.purges, State: store.Ready, All: true, Limit: store.MaxBatch}
		result, err := s.Purge(c.t.Context(), p, r)
		if err != nil {
			c.t.Fatal(err)
		}
		if result.Removed < r.Limit {
			return
		}
	}
}
