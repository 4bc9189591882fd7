package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
	"github.com/dueq-dev/dueq/store/storetest"
)

// syncMode is a choice of when calls wait for the disk. The timer of sync=100ms never
// fires in a test: the script syncs instead.
type syncMode struct {
	name   string
	config Config
}

func syncAlways() syncMode { return syncMode{name: "always"} }

func syncModes() []syncMode {
	return []syncMode{syncAlways(), {"100ms", Config{SyncEvery: time.Hour}}, {"never", Config{NeverSync: true}}}
}

// waits reports whether a call that promises something waits for the disk.
func (m syncMode) waits() bool { return m.config.SyncEvery == 0 && !m.config.NeverSync }

// script is a store that random calls are made on, one at a time. It keeps the state after
// each call, and which of the states must outlive a crash.
type script struct {
	t      *testing.T
	rng    *rand.Rand
	disk   *faultdisk.Disk
	mode   syncMode
	tune   tuning
	clock  *handClock
	s      *Store
	mishap *mishap // nil: nothing happens to the disk
	keeps  bool    // no segment is merged
	closed bool    // s is, because opening it again failed

	number   uint64
	made     int // messages
	receipts []store.Receipt
	pushed   map[store.Partition]store.PushRequest // the last of each

	states  []string                // fingerprints after each call, the first before any
	changed map[store.Partition]int // index in states of the last change
	durable int                     // index in states of the last that must outlive a power cut
	written int                     // and the process
}

var quiet = slog.New(slog.DiscardHandler)

func newScript(t *testing.T, seed uint64, d *faultdisk.Disk, tune tuning) *script {
	t.Helper()
	return newScriptOf(t, syncAlways(), seed, d, tune)
}

func newScriptOf(t *testing.T, mode syncMode, seed uint64, d *faultdisk.Disk, tune tuning) *script {
	t.Helper()
	tune.byHand = true
	x := &script{
		t: t, rng: rand.New(rand.NewPCG(seed, seed)), disk: d, mode: mode, tune: tune,
		clock: &handClock{now: time.UnixMilli(epoch)}, pushed: map[store.Partition]store.PushRequest{},
	}
	if err := x.open(); err != nil {
		t.Fatalf("open: %v", err)
	}
	x.begin(fingerprint(x.s))
	return x
}

// begin forgets all states but that of the store just opened, which must outlive
// everything: opening a store syncs it, whatever the mode is.
func (x *script) begin(state string) {
	x.states, x.durable, x.written, x.changed = []string{state}, 0, 0, map[store.Partition]int{}
}

func (x *script) config() Config {
	c := x.mode.config
	c.Now, c.Logger = x.clock.Now, quiet
	return c
}

func (x *script) open() error {
	s, err := openOn(x.t.Context(), x.disk, x.config(), x.tune)
	if err == nil {
		x.s = s
	}
	x.closed = err != nil
	return err
}

// promise is how long what a call did must last.
type promise int

const (
	nothing promise = iota
	outlivesProcess
	outlivesPower
)

// step makes one random call, which must not fail.
func (x *script) step() {
	x.t.Helper()
	if err := x.call(); err != nil {
		x.t.Fatalf("call %d: %v", len(x.states)-1, err)
	}
}

// call makes one random call and notes the state after it.
func (x *script) call() error {
	x.clock.move(time.Duration(x.rng.IntN(2_000_000)) * time.Microsecond)
	p := store.Partition{Queue: []string{"orders", "mails"}[x.rng.IntN(2)], Index: x.rng.IntN(2)}
	lasts, err := x.random(x.t.Context(), p)
	x.note(p, lasts, err)
	return err
}

// note adds the state after a call on a partition. A call that promises something promises
// it for everything that its partition has seen, also when it changed nothing itself.
func (x *script) note(p store.Partition, lasts promise, err error) {
	x.mishap.pause(func() { x.states = append(x.states, fingerprint(x.s)) })
	last := len(x.states) - 1
	if x.states[last] != x.states[last-1] {
		x.changed[p] = last
	}
	if err != nil {
		return
	}
	if lasts >= outlivesProcess {
		x.written = max(x.written, x.changed[p])
	}
	if lasts == outlivesPower && x.mode.waits() {
		x.durable = max(x.durable, x.changed[p])
	}
}

// allDurable notes that everything up to now must outlive a power cut.
func (x *script) allDurable() { x.written, x.durable = len(x.states)-1, len(x.states)-1 }

func (x *script) random(ctx context.Context, p store.Partition) (promise, error) {
	x.number++
	switch n := x.rng.IntN(100); {
	case n < 30:
		return outlivesPower, x.push(ctx, p)
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
		states := []store.State{store.Ready, store.Dead, store.Scheduled, store.Done}
		_, err := x.s.Purge(ctx, p, store.PurgeRequest{
			Caller: "m", Number: x.number, State: states[x.rng.IntN(4)], All: true, Limit: 1 + x.rng.IntN(3),
		})
		return outlivesPower, err
	case n < 95:
		most, span, dead := int64(x.rng.IntN(2)*80), int64(x.rng.IntN(2)*20_000), int64(x.rng.IntN(2)*6)
		_, err := x.s.Configure(ctx, p.Queue, store.Change{
			Create: true, MaxMessages: &most, DeadRetention: &span, MaxDead: &dead, History: &span, MaxHistory: &most,
		})
		return outlivesPower, err
	case n < 96 && !x.keeps:
		return x.deleteQueue(ctx, p.Queue)
	case n < 98:
		return nothing, x.tend(ctx)
	default:
		return outlivesPower, x.closeAndOpen() //nolint:contextcheck // the test's
	}
}

// deleteQueue deletes a queue: by force, which is seldom, or only if it is empty.
func (x *script) deleteQueue(ctx context.Context, queue string) (promise, error) {
	switch err := x.s.DeleteQueue(ctx, queue, store.DeleteRequest{Force: x.rng.IntN(3) == 0}); {
	case errors.Is(err, store.ErrNotEmpty), errors.Is(err, store.ErrNotFound):
		return nothing, nil
	default:
		return outlivesPower, err
	}
}

// push pushes new messages. Now and then it repeats the last push first, as a caller does
// that has not got the answer: with its number or, as if another process did, with a new one.
func (x *script) push(ctx context.Context, p store.Partition) error {
	if last, ok := x.pushed[p]; ok && x.rng.IntN(6) == 0 {
		if x.rng.IntN(2) == 0 {
			last.Producer, last.Number = "p2", x.number
		}
		_, err := x.s.Push(ctx, p, last)
		return err
	}
	x.pushed[p] = x.pushRequest(p)
	_, err := x.s.Push(ctx, p, x.pushed[p])
	return err
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
		if x.rng.IntN(3) == 0 {
			ms[i].Remember = store.MaxRemember // longer than a script runs, so that nothing is forgotten
		}
		if x.rng.IntN(4) == 0 {
			ms[i].DedupID = store.NewDedupID(x.key())
		}
		if x.rng.IntN(5) == 0 {
			ms[i].TTL, ms[i].Headers = ms[i].Delay+3000, map[string]string{"h": p.Queue}
		}
		if ms[i].Key != "" && x.rng.IntN(2) == 0 {
			ms[i].Repeat, ms[i].TTL = x.schedule(), 0
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
	if x.rng.IntN(6) == 0 {
		return outlivesPower, x.follow(ctx, p)
	}
	r := store.SettleRequest{Verdict: []store.Verdict{store.Ack, store.Ack, store.Nack, store.Release, store.Reject, storetest.Extend, storetest.Start, store.Again}[x.rng.IntN(8)]}
	for range 1 + x.rng.IntN(3) {
		i := max(0, len(x.receipts)-1-x.rng.IntN(8))
		r.Items = append(r.Items, store.Settlement{Receipt: x.receipts[i], Delay: 1000 + int64(x.rng.IntN(2000)), Failure: strings.Repeat("no", x.rng.IntN(20))})
		switch item := &r.Items[len(r.Items)-1]; r.Verdict {
		case store.Nack, store.Reject:
			x.made++
			item.Next, item.Letter = &store.Occurrence{Due: x.clock.Now().UnixMilli() + int64(x.rng.IntN(4000)), Repeat: x.schedule()}, id(x.made)
		case store.Again:
			item.Next = &store.Occurrence{Repeat: x.schedule()}
		default:
		}
	}
	_, err := storetest.Settle(ctx, x.s, p, r)
	if r.Verdict == storetest.Extend || r.Verdict == storetest.Start {
		return outlivesProcess, err
	}
	return outlivesPower, err
}

// follow settles deliveries with messages behind them: both or neither is there after a crash.
func (x *script) follow(ctx context.Context, p store.Partition) error {
	r := store.SettleRequest{Verdict: store.Next}
	for range 1 + x.rng.IntN(3) {
		i := max(0, len(x.receipts)-1-x.rng.IntN(8))
		item := store.Settlement{Receipt: x.receipts[i]}
		for _, m := range x.pushRequest(p).Messages {
			if all := append(slices.Clip(item.Messages), m); m.ID.Partition() == item.Receipt.ID.Partition() && apart(all) {
				item.Messages = all
			}
		}
		if len(item.Messages) > 0 {
			r.Items = append(r.Items, item)
		}
	}
	if len(r.Items) == 0 {
		return nil
	}
	_, err := x.s.Settle(ctx, p, r)
	return err
}

func apart(messages []store.Message) bool {
	_, same := store.SameNames(messages)
	return same == ""
}

// tend does what the caretaker and the timer of sync=100ms do.
func (x *script) tend(ctx context.Context) error {
	log := x.s.care.log
	if x.mode.config.SyncEvery > 0 && x.rng.IntN(2) == 0 {
		err := log.Synced(ctx, log.End())
		if err == nil {
			x.allDurable()
		}
		return err
	}
	oldest, active := log.Ends()
	if oldest == active || x.keeps {
		return log.Roll()
	}
	return x.s.care.merge(ctx, oldest)
}

func (x *script) closeAndOpen() error {
	if err := x.s.Close(); err != nil {
		x.closed = true
		return err
	}
	x.allDurable()
	return x.open()
}

func (x *script) pick() store.ID { return id(max(1, x.made-x.rng.IntN(30))) }

func (x *script) schedule() string { return fmt.Sprint("every ", 1+x.rng.IntN(2), "s") }

func (x *script) key() string { return fmt.Sprint("key", x.rng.IntN(6)) }
