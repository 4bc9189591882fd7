package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// A crash test runs a script of random calls on a disk that can lose its power. Before
// everything the store does to the disk, and in three ways each, the power is cut, and
// a store is opened on what is left. It must be in the state after one of the calls
// made so far: not before the last whose answer promised to last.

// script is a store that random calls are made on, one at a time.
type script struct {
	t     *testing.T
	rng   *rand.Rand
	disk  *faultdisk.Disk
	tune  tuning
	clock *handClock
	s     *Store

	number   uint64
	made     int // messages
	receipts []store.Receipt

	states  []string // fingerprints after each call, the first before any
	durable int      // index in states of the last that must outlive a power cut
	written int      // and the process
}

var quiet = slog.New(slog.DiscardHandler)

func newScript(t *testing.T, seed uint64, d *faultdisk.Disk, tune tuning) *script {
	t.Helper()
	tune.byHand = true
	x := &script{
		t: t, rng: rand.New(rand.NewPCG(seed, seed)), disk: d, tune: tune,
		clock: &handClock{now: time.UnixMilli(epoch)},
	}
	x.open()
	x.states = []string{fingerprint(x.s)}
	return x
}

func (x *script) open() {
	x.t.Helper()
	s, err := openOn(x.t.Context(), x.disk, Config{Now: x.clock.Now, Logger: quiet}, x.tune)
	if err != nil {
		x.t.Fatalf("open: %v", err)
	}
	x.s = s
}

// promise is how long what a call did must last.
type promise int

const (
	nothing promise = iota
	outlivesProcess
	outlivesPower
)

// step makes one random call and notes the state after it.
func (x *script) step() {
	x.t.Helper()
	x.clock.move(time.Duration(x.rng.IntN(2_000_000)) * time.Microsecond)
	p := store.Partition{Queue: []string{"orders", "mails"}[x.rng.IntN(2)], Index: x.rng.IntN(2)}
	lasts, err := x.random(x.t.Context(), p)
	if err != nil {
		x.t.Fatalf("call %d: %v", len(x.states), err)
	}
	x.states = append(x.states, fingerprint(x.s))
	last := len(x.states) - 1
	if x.states[last] == x.states[last-1] {
		return // it wrote nothing, and what others wrote in other partitions need not last
	}
	if lasts >= outlivesProcess {
		x.written = last
	}
	if lasts == outlivesPower {
		x.durable = last
	}
}

func (x *script) random(ctx context.Context, p store.Partition) (promise, error) {
	x.number++
	switch n := x.rng.IntN(100); {
	case n < 30:
		_, err := x.s.Push(ctx, p, x.pushRequest(p))
		return outlivesPower, err
	case n < 55:
		return x.claim(ctx, p)
	case n < 80:
		return x.settle(ctx, p)
	case n < 84:
		_, err := x.s.Cancel(ctx, p, store.CancelRequest{Caller: "m", Number: x.number, Refs: []store.Ref{{ID: x.pick()}, {Key: x.key()}}})
		return outlivesPower, err
	case n < 88:
		_, err := x.s.Reschedule(ctx, p, store.RescheduleRequest{
			Caller: "m", Number: x.number, Moves: []store.Move{{Ref: store.Ref{ID: x.pick()}, Delay: int64(x.rng.IntN(5000))}},
		})
		return outlivesPower, err
	case n < 91:
		_, err := x.s.Redrive(ctx, p, store.RedriveRequest{Caller: "m", Number: x.number, Items: []store.Redrive{{ID: x.pick()}, {ID: x.pick(), Delay: 1000}, {ID: x.pick()}}})
		return outlivesPower, err
	case n < 93:
		states := []store.State{store.Ready, store.Dead, store.Scheduled}
		_, err := x.s.Purge(ctx, p, store.PurgeRequest{
			Caller: "m", Number: x.number, State: states[x.rng.IntN(3)], All: true, Limit: 1 + x.rng.IntN(3),
		})
		return outlivesPower, err
	case n < 95:
		most := int64(x.rng.IntN(2) * 80)
		_, err := x.s.Configure(ctx, p.Queue, store.Change{Create: true, MaxMessages: &most})
		return outlivesPower, err
	case n < 98:
		oldest, active := x.s.care.log.Ends()
		if oldest == active {
			return nothing, x.s.care.log.Roll()
		}
		return nothing, x.s.care.merge(ctx, oldest)
	default:
		err := x.s.Close()
		x.written, x.durable = len(x.states)-1, len(x.states)-1
		x.open() //nolint:contextcheck // the test's
		return outlivesPower, err
	}
}

func (x *script) pushRequest(p store.Partition) store.PushRequest {
	ms := make([]store.Message, 1+x.rng.IntN(3))
	for i := range ms {
		x.made++
		ms[i] = store.Message{
			ID: id(x.made), Body: make([]byte, x.rng.IntN(300)), MaxAttempts: 1 + x.rng.IntN(3), Delay: int64(x.rng.IntN(3) * x.rng.IntN(4000)),
		}
		for j := range ms[i].Body {
			ms[i].Body[j] = byte(x.rng.Uint32())
		}
		if x.rng.IntN(3) == 0 {
			ms[i].Key, ms[i].Replace = x.key(), x.rng.IntN(2) == 0
		}
		if x.rng.IntN(5) == 0 {
			ms[i].TTL, ms[i].Headers = ms[i].Delay+3000, map[string]string{"h": p.Queue}
		}
	}
	return store.PushRequest{Producer: fmt.Sprint("p", x.rng.IntN(2)), Number: x.number, Messages: ms}
}

func (x *script) claim(ctx context.Context, p store.Partition) (promise, error) {
	r := store.ClaimRequest{
		Consumer: fmt.Sprint("c", x.rng.IntN(3)), Number: x.number, Max: 1 + x.rng.IntN(4), Lease: 1000 + int64(x.rng.IntN(9000)), AckOnClaim: x.rng.IntN(9) == 0,
	}
	got, err := x.s.Claim(ctx, p, r)
	for _, d := range got.Deliveries {
		x.receipts = append(x.receipts, d.Receipt)
	}
	switch {
	case len(got.Deliveries) == 0:
		return nothing, err
	case r.AckOnClaim:
		return outlivesPower, err
	}
	return outlivesProcess, err
}

func (x *script) settle(ctx context.Context, p store.Partition) (promise, error) {
	if len(x.receipts) == 0 {
		return nothing, nil
	}
	r := store.SettleRequest{Verdict: []store.Verdict{store.Ack, store.Ack, store.Nack, store.Release, store.Reject, store.Extend, store.Start}[x.rng.IntN(7)]}
	for range 1 + x.rng.IntN(3) {
		i := max(0, len(x.receipts)-1-x.rng.IntN(8))
		r.Items = append(r.Items, store.Settlement{Receipt: x.receipts[i], Delay: 1000 + int64(x.rng.IntN(2000)), Failure: strings.Repeat("no", x.rng.IntN(20))})
	}
	_, err := x.s.Settle(ctx, p, r)
	if r.Verdict == store.Extend || r.Verdict == store.Start {
		return outlivesProcess, err
	}
	return outlivesPower, err
}

func (x *script) pick() store.ID { return id(max(1, x.made-x.rng.IntN(30))) }

func (x *script) key() string { return fmt.Sprint("key", x.rng.IntN(6)) }

// fingerprint tells two states of a store apart. What only affects when callers are
// forgotten is left out.
func fingerprint(s *Store) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		q := s.queues[name]
		_, _ = fmt.Fprintf(h, "queue %s %+v\n", name, q.load())
		for _, index := range slices.Sorted(maps.Keys(q.partitions)) {
			_, _ = fmt.Fprintf(h, "partition %d\n", index)
			q.partitions[index].describe(func(format string, args ...any) { _, _ = fmt.Fprintf(h, format, args...) })
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (p *partition) describe(write func(format string, args ...any)) {
	write("%v\n", p.counts)
	for _, o := range []order{p.waiting.order, p.leased, p.dead} {
		o.after(start(), func(e *entry) bool {
			content, err := p.payload(e)
			write("%v %d %d %d %v %v %v %+v %q %v\n", e.id, e.state, e.at, e.expiry(), e.maxAttempts, e.stopping(), e.begun(), e.past(), string(content), err)
			return true
		})
	}
	for _, key := range slices.Sorted(maps.Keys(p.byKey)) {
		write("%s %v\n", key, p.byKey[key].id)
	}
	for _, callers := range []calls[pushAnswer]{p.producers, p.managers} {
		for _, name := range slices.Sorted(maps.Keys(callers.byName)) {
			last := callers.byName[name].Value.(*call[pushAnswer])
			write("%s %d %v\n", name, last.number, last.answer.again())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.consumers.byName)) {
		last := p.consumers.byName[name].Value.(*call[[]handedOut])
		write("%s %d %v\n", name, last.number, p.stillHeld(last.answer))
	}
}

// crasher opens stores on what is left after power cuts.
type crasher struct {
	*script
	rng  *rand.Rand
	cuts int
	seen []found // during the call under way
}

type found struct {
	op    faultdisk.Op
	fate  faultdisk.Fate
	state string
	err   error
}

// look cuts the power, three ways.
func (c *crasher) look(op faultdisk.Op) {
	for _, fate := range []faultdisk.Fate{faultdisk.Lost, faultdisk.Kept, faultdisk.Random} {
		c.cuts++
		state, err := c.reopened(c.disk.Cut(fate, c.rng))
		c.seen = append(c.seen, found{op, fate, state, err})
	}
}

func (c *crasher) reopened(d *faultdisk.Disk) (string, error) {
	tune := c.tune
	s, err := openOn(context.Background(), d, Config{Now: c.clock.Now, Logger: quiet}, tune)
	if err != nil {
		return "", err
	}
	for _, p := range s.allPartitions() {
		if r := p.check(auditOrders[0], start(), 1<<30); len(r.Problems) > 0 {
			err = errors.Join(err, fmt.Errorf("audit: %v", r.Problems))
		}
	}
	return fingerprint(s), errors.Join(err, s.Close())
}

// judge compares what was found during a call with the states there were.
func (c *crasher) judge(durable, written int) error {
	for _, f := range c.seen {
		from := durable
		if f.fate == faultdisk.Kept {
			from = written
		}
		if f.err != nil {
			return fmt.Errorf("call %d, power cut before %v (%d): %w", len(c.states)-1, f.op, f.fate, f.err)
		}
		if !slices.Contains(c.states[from:], f.state) {
			at := slices.Index(c.states, f.state)
			return fmt.Errorf("call %d, power cut before %v (%d): state %s is that after call %d, want one after %d", len(c.states)-1, f.op, f.fate, f.state, at, from)
		}
	}
	c.seen = c.seen[:0]
	return nil
}

// crashEverywhere runs a script of so many calls, cutting the power before everything
// that is done to the disk, and returns the first promise found broken.
func crashEverywhere(t *testing.T, seed uint64, calls int, d *faultdisk.Disk, tune tuning) (cuts int, err error) {
	t.Helper()
	c := &crasher{rng: rand.New(rand.NewPCG(seed, 1))}
	c.script = newScript(t, seed, d, tune)
	d.Before = func(op faultdisk.Op) error {
		c.look(op)
		return nil
	}
	defer func() {
		d.Before = nil
		_ = c.s.Close()
	}()
	for range calls {
		durable, written := c.durable, c.written
		c.step()
		if err := c.judge(durable, written); err != nil {
			return c.cuts, err
		}
	}
	return c.cuts, nil
}

const smallSegments = 12 << 10

var crashCalls = flag.Int("embedded.calls", 500, "embedded: calls of each of the four scripts of TestNoPowerCutBreaksAPromise")

func TestNoPowerCutBreaksAPromise(t *testing.T) {
	t.Parallel()
	const scripts = 4
	calls := *crashCalls
	for seed := range uint64(scripts) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			cuts, err := crashEverywhere(t, seed, calls, faultdisk.New(), tuning{segmentSize: smallSegments})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d calls, %d power cuts", calls, cuts)
		})
	}
}

// What would happen if the log made a mistake: each must be found by the test above.
func TestMistakesAreFound(t *testing.T) {
	t.Parallel()
	mistakes := []struct {
		name string
		disk func(*faultdisk.Disk)
		tune tuning
	}{
		{"answer before the fsync", func(d *faultdisk.Disk) { d.Lies.LateSync = true }, tuning{segmentSize: smallSegments}},
		{"merge without fsync of the directory", func(d *faultdisk.Disk) { d.Lies.KeepRemoved = true }, tuning{segmentSize: smallSegments}},
		{"no checksum", func(*faultdisk.Disk) {}, tuning{segmentSize: smallSegments, checksum: func(uint32, []byte) uint32 { return 0 }}},
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			d := faultdisk.New()
			m.disk(d)
			cuts, err := crashEverywhere(t, 1, 500, d, m.tune)
			if err == nil {
				t.Fatalf("not found in %d power cuts", cuts)
			}
			t.Logf("found after %d power cuts: %v", cuts, err)
		})
	}
}
