package embedded

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

// A real process works on a store, merging all the time, and is killed with SIGKILL, again and again. It
// prints a line when a push was answered ("sent ID"), when a message was handed out
// ("got ID") and when its ack was answered ("done ID").
//
//	go test ./store/embedded -run TestKill -v -embedded.kills 50

var kills = flag.Int("embedded.kills", 5, "embedded: how often TestKill kills")

// victimDir names the directory of a process that is there to be killed.
const victimDir = "DUEQ_TEST_VICTIM_DIR"

const victimLease = 1000

func TestKill(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(victimDir); dir != "" {
		beVictim(t, dir)
		return
	}
	dir := filepath.Join(t.TempDir(), "store")
	l := &ledger{sent: map[string]bool{}, got: map[string]int{}, done: map[string]bool{}}
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for range *kills {
		killOne(t, dir, l, 1+rng.IntN(victimLines))
	}
	drain(t, dir, l)
	lost, repeated := 0, 0
	for id := range l.sent {
		if l.got[id] == 0 {
			lost++
		}
	}
	for _, n := range l.got {
		repeated += n - 1
	}
	t.Logf("%d kills, %d messages, lost %d, duplicates %d (bound %d)", *kills, len(l.sent), lost, repeated, l.held)
	if lost > 0 || repeated > l.held {
		t.Error("messages were lost, or came too often")
	}
	if len(l.sent) < *kills {
		t.Errorf("only %d messages were sent: nothing was under load", len(l.sent))
	}
}

// ledger is what the victims said.
type ledger struct {
	sent map[string]bool
	got  map[string]int
	done map[string]bool
	held int // deliveries that were not acked, or not known to be, when their process was killed
}

// read takes in what a victim prints, kills it after n lines, and notes what it held
// then.
func (l *ledger) read(r io.Reader, after int, kill func()) {
	got, done := map[string]bool{}, 0
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		if n == after {
			kill()
		}
		what, id, _ := strings.Cut(lines.Text(), " ")
		if len(id) != 26 {
			continue // cut off by the kill
		}
		switch what {
		case "sent":
			l.sent[id] = true
		case "got":
			l.got[id]++
			got[id] = true
		case "done":
			l.done[id] = true
			done++
		}
	}
	// A claim that was not printed any more may be one of those, too.
	l.held += len(got) - done + victims*victimBatch
}

const (
	victims     = 8 // goroutines of each kind
	victimBatch = 5
	victimLines = 10_000 // that a victim prints at most before it is killed
)

func killOne(t *testing.T, dir string, l *ledger, after int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKill$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), victimDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil { // the first: it is at work
		t.Fatal(err)
	}
	l.read(lines, after, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // it was killed: that is an error
}

func beVictim(t *testing.T, dir string) {
	t.Helper()
	d, err := disk.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := openOn(t.Context(), d, Config{Logger: quiet}, tuning{byHand: true, segmentSize: 64 << 10, restAfter: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	say := func(what string, id store.ID) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(os.Stdout, "%s %s\n", what, id)
	}
	say("up", store.ID{})
	var wg sync.WaitGroup
	for n := range victims {
		p := store.Partition{Queue: "kill", Index: n % 2}
		wg.Go(func() { produce(t, s, p, say) })
		wg.Go(func() { consume(t, s, p, say) })
	}
	wg.Go(func() { mergeAlways(t.Context(), s) })
	wg.Wait()
}

// mergeAlways makes it likely that a kill comes in the middle of a merge.
func mergeAlways(ctx context.Context, s *Store) {
	for {
		if oldest, active := s.care.log.Ends(); oldest == active {
			<-time.After(time.Millisecond)
		} else if err := s.care.merge(ctx, oldest); err != nil {
			panic(err)
		}
	}
}

func produce(t *testing.T, s *Store, p store.Partition, say func(string, store.ID)) {
	name := route.NewID(0).String()
	for number := uint64(1); ; number++ {
		id := route.NewID(p.Index)
		m := store.Message{ID: id, Body: []byte(id.String()), MaxAttempts: 1000, Delay: int64(number % 7)}
		r, err := s.Push(t.Context(), p, store.PushRequest{Producer: name, Number: number, Messages: []store.Message{m}})
		if err != nil || r[0].Code != store.CodeOK {
			panic(fmt.Sprint(r, err))
		}
		say("sent", id)
	}
}

func consume(t *testing.T, s *Store, p store.Partition, say func(string, store.ID)) {
	name := route.NewID(0).String()
	for number := uint64(1); ; number++ {
		if takeSome(t.Context(), s, p, name, number, say) == 0 {
			<-time.After(time.Millisecond)
		}
	}
}

// takeSome claims and acks a few messages.
func takeSome(ctx context.Context, s *Store, p store.Partition, name string, number uint64, say func(string, store.ID)) int {
	got, err := s.Claim(ctx, p, store.ClaimRequest{Consumer: name, Number: number, Max: victimBatch, Lease: victimLease})
	if err != nil {
		panic(err)
	}
	var items []store.Settlement
	for _, d := range got.Deliveries {
		if string(d.Body) != d.Receipt.ID.String() {
			panic("the body is another's: " + string(d.Body))
		}
		say("got", d.Receipt.ID)
		items = append(items, store.Settlement{Receipt: d.Receipt})
	}
	if len(items) == 0 {
		return 0
	}
	if _, err := s.Settle(ctx, p, store.SettleRequest{Verdict: store.Ack, Items: items}); err != nil {
		panic(err)
	}
	for _, item := range items {
		say("done", item.Receipt.ID)
	}
	return len(items)
}

// drain takes everything that is left, once the leases of the killed have run out.
func drain(t *testing.T, dir string, l *ledger) {
	t.Helper()
	var ahead atomic.Int64 // ms that the store's clock is ahead
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load()) * time.Millisecond) }
	s, err := Open(t.Context(), dir, Config{Logger: quiet, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	ahead.Store(victimLease + 1000)
	say := func(what string, id store.ID) {
		if what == "got" {
			l.got[id.String()]++
		}
	}
	for number := uint64(1); ; number++ {
		n := takeSome(t.Context(), s, store.Partition{Queue: "kill", Index: int(number % 2)}, "drain", number, say)
		all, err := s.Stats(t.Context(), "kill")
		if err != nil {
			t.Fatal(err)
		}
		if left := all[0]; n == 0 && left.Scheduled+left.Ready+left.Leased == 0 {
			break
		}
	}
	for _, p := range s.allPartitions() {
		if r := p.check(auditOrders[0], start(), 1<<30); len(r.Problems) > 0 {
			t.Errorf("audit: %v", r.Problems)
		}
	}
}
