package embedded

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
	"github.com/dueq-dev/dueq/store/storetest"
)

// Many goroutines call a store while its disk crashes or fails, again and again. In which
// order their calls take effect is not known, so what must hold is said for each message:
// what was answered before the crash.
//
//	go test ./store/embedded -run TestCrash_ManyCallers -v -embedded.rounds 1000

var callersRounds = flag.Int("embedded.rounds", callersRoundsUsual, "embedded: crashes of each store of TestCrash_ManyCallers")

const (
	callersPartitions = 3
	callersSenders    = 4
	callersConsumers  = 4
	callersLease      = 30_000
	callersOps        = 200 // operations within which something happens to the disk
	callersLive       = 300 // messages at most, about
)

func TestCrash_ManyCallers(t *testing.T) {
	t.Parallel()
	for i, mode := range syncModes() {
		t.Run("sync="+mode.name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(i)
			c := &callers{
				t: t, mode: mode, rng: rand.New(rand.NewPCG(seed, 3)), disk: faultdisk.New(),
				clock: &handClock{now: time.UnixMilli(epoch)}, accounts: map[store.ID]*account{}, merges: make(chan struct{}, 1),
			}
			for round := range *callersRounds {
				if err := c.round(); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
			}
			c.drain()
			t.Logf("%d crashes and failures, %d messages", *callersRounds, c.made.Load())
		})
	}
}

// callers is a store and the goroutines that call it.
type callers struct {
	t      *testing.T
	mode   syncMode
	rng    *rand.Rand
	disk   *faultdisk.Disk
	clock  *handClock
	s      *Store
	mishap *mishap
	merges chan struct{}

	made, number atomic.Int64
	unanswered   [callersSenders]*store.PushRequest // pushes that may have been stored

	mu       sync.Mutex
	accounts map[store.ID]*account
	live     int                  // messages that have not left
	before   map[store.ID]account // at the moment of the last crash
}

// account is what callers know of a message.
type account struct {
	sent            bool // its push was answered
	leaving, left   bool // an ack was begun, answered
	nacking, nacked int  // nacks that were begun, answered
	attempt         int  // of the last delivery
}

// round lets the callers call until something happens to the disk, and opens what is left.
func (c *callers) round() error {
	c.clock.move(2 * callersLease * time.Millisecond)
	kind := []mishapKind{crash, crash, crash, droppedSync, failedOp}[c.rng.IntN(5)]
	c.mishap = newMishap(c.disk, c.rng, kind, callersOps)
	c.mishap.onCut = c.remember
	if err := c.open(); err != nil {
		if !c.mishap.did() {
			return fmt.Errorf("open: %w", err)
		}
		c.remember()
		return c.goOn()
	}
	c.work()
	closed := c.s.Close()
	if c.mishap.crashed() == nil {
		c.remember()
	}
	if closed != nil && !c.mishap.did() {
		return fmt.Errorf("close: %w", closed)
	}
	return c.goOn()
}

func (c *callers) open() error {
	config := c.mode.config
	config.Now, config.Logger = c.clock.Now, quiet
	s, err := openOn(c.t.Context(), c.disk, config, tuning{byHand: true, segmentSize: smallSegments})
	c.s = s
	return err
}

// remember keeps what callers knew.
func (c *callers) remember() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = make(map[store.ID]account, len(c.accounts))
	for id, a := range c.accounts {
		c.before[id] = *a
	}
}

// goOn opens a store on what is left and compares it with what callers knew.
func (c *callers) goOn() error {
	left, unsynced := c.mishap.crashed(), c.mishap.unsynced
	if left == nil {
		unsynced = allUnsynced()[c.rng.IntN(3)]
		left = c.disk.Cut(unsynced, c.rng)
	}
	c.disk = left
	if err := c.open(); err != nil {
		return fmt.Errorf("open what was left: %w", err)
	}
	err := errors.Join(c.judge(unsynced != faultdisk.Kept), audit(c.s), c.s.Close())
	if err != nil {
		return fmt.Errorf("mishap %d, unsynced %d: %w", c.mishap.kind, unsynced, err)
	}
	return nil
}

// judge compares the store with what callers knew before the crash, and then takes over
// what is in it: this must last from now on.
func (c *callers) judge(power bool) error {
	lasting := c.mode.waits() || !power
	stored, pending := 0, c.pending()
	for id, a := range c.accounts {
		r, err := c.s.Get(c.t.Context(), partitionOf(id), store.Ref{ID: id})
		before := c.before[id]
		if errors.Is(err, store.ErrNotFound) {
			if lasting && before.sent && !a.leaving {
				return fmt.Errorf("message %v was sent and is lost", id)
			}
			if !pending[id] {
				delete(c.accounts, id) // if it is listed again later, no caller knows it
			} else if !lasting || !before.left {
				*a = account{leaving: a.leaving} // it may never have been there
			}
			continue
		}
		stored++
		if problem := a.compare(before, r, lasting, power); err != nil || problem != "" {
			return fmt.Errorf("message %v: %w: %s (%+v before the crash, %+v at the end, stored: %+v)", id, err, problem, before, *a, r)
		}
		*a = account{sent: true, nacking: r.Failures, nacked: r.Failures, attempt: r.Attempt}
	}
	stats, err := c.s.Stats(c.t.Context(), "")
	for _, q := range stats {
		stored -= int(q.Scheduled + q.Ready + q.Leased + q.Dead)
	}
	c.live = len(c.accounts)
	if err != nil || stored != 0 {
		return fmt.Errorf("%d messages more or less than were sent: %w", stored, err)
	}
	return nil
}

// pending returns the messages of pushes that were not answered and will be repeated.
func (c *callers) pending() map[store.ID]bool {
	ids := map[store.ID]bool{}
	for _, r := range c.unanswered {
		if r != nil {
			for _, m := range r.Messages {
				ids[m.ID] = true
			}
		}
	}
	return ids
}

// compare returns what is wrong with a message that was found after a crash.
func (a *account) compare(before account, r store.Record, lasting, power bool) string {
	switch {
	case string(r.Body) != r.ID.String():
		return "the body is another"
	case lasting && before.left:
		return "it has left, and is back"
	case lasting && r.Failures < before.nacked:
		return "a nack is forgotten"
	case r.Failures > a.nacking:
		return "it failed more often than it was nacked"
	case !power && r.Attempt < before.attempt:
		return "a delivery is forgotten"
	}
	return ""
}

// work lets callers call until something has happened to the disk.
func (c *callers) work() {
	var callers sync.WaitGroup
	for n := range callersSenders {
		rng := rand.New(rand.NewPCG(c.rng.Uint64(), 4))
		callers.Go(func() { c.until(func() error { return c.send(n, rng) }) })
	}
	for n := range callersConsumers {
		rng := rand.New(rand.NewPCG(c.rng.Uint64(), 5))
		callers.Go(func() { c.until(func() error { return c.consume(n, rng) }) })
	}
	callers.Go(func() { c.until(c.merge) })
	callers.Wait()
}

func (c *callers) until(call func() error) {
	for !c.mishap.over() && !c.t.Failed() {
		if err := call(); err != nil {
			if !c.mishap.did() {
				c.t.Errorf("failed although nothing happened: %v", err)
			}
			return
		}
	}
}

func partitionOf(id store.ID) store.Partition {
	return store.Partition{Queue: "q", Index: int(id[len(id)-1])}
}

// send repeats the push that was not answered, if there is one, or makes a new one.
func (c *callers) send(sender int, rng *rand.Rand) error {
	r := c.unanswered[sender]
	if r == nil {
		r = c.newPush(sender, rng)
	}
	if r == nil {
		runtime.Gosched()
		return nil
	}
	c.unanswered[sender] = r
	results, err := c.s.Push(c.t.Context(), partitionOf(r.Messages[0].ID), *r)
	if err != nil {
		return err
	}
	c.unanswered[sender] = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, m := range r.Messages {
		if results[i].Code == store.CodeOK {
			c.accounts[m.ID].sent = true
		} else {
			c.live--
		}
	}
	if rng.IntN(20) == 0 {
		select {
		case c.merges <- struct{}{}:
		default: // one is asked for
		}
	}
	return nil
}

// newPush is of a few messages, some of them with a key that others have, too. It is nil
// while there are many.
func (c *callers) newPush(sender int, rng *rand.Rand) *store.PushRequest {
	r := &store.PushRequest{Producer: fmt.Sprint("p", sender), Number: uint64(c.number.Add(1))}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live > callersLive {
		return nil
	}
	partition := byte(rng.IntN(callersPartitions))
	for range 1 + rng.IntN(3) {
		var id store.ID
		binary.BigEndian.PutUint64(id[:], uint64(c.made.Add(1)))
		id[len(id)-1] = partition
		m := store.Message{ID: id, Body: []byte(id.String()), MaxAttempts: store.MaxAttempts}
		if rng.IntN(3) == 0 {
			m.Key = fmt.Sprint("key", rng.IntN(20))
		}
		c.accounts[id] = &account{}
		c.live++
		r.Messages = append(r.Messages, m)
	}
	return r
}

// consume claims a few messages and settles them.
func (c *callers) consume(consumer int, rng *rand.Rand) error {
	p := store.Partition{Queue: "q", Index: rng.IntN(callersPartitions)}
	got, err := c.s.Claim(c.t.Context(), p, store.ClaimRequest{
		Consumer: fmt.Sprint("c", consumer), Number: uint64(c.number.Add(1)), Max: 1 + rng.IntN(10), Lease: callersLease,
	})
	if err != nil || len(got.Deliveries) == 0 {
		return err
	}
	c.delivered(got.Deliveries)
	switch rng.IntN(6) {
	case 0:
		return c.settle(p, got.Deliveries, store.Nack)
	case 1:
		return c.settle(p, got.Deliveries, store.Release)
	case 2:
		if err := c.settle(p, got.Deliveries, storetest.Extend); err != nil {
			return err
		}
	}
	return c.settle(p, got.Deliveries, store.Ack)
}

// settle gives one verdict on deliveries, which must be accepted.
func (c *callers) settle(p store.Partition, deliveries []store.Delivery, verdict store.Verdict) error {
	r := store.SettleRequest{Verdict: verdict}
	for _, d := range deliveries {
		item := store.Settlement{Receipt: d.Receipt}
		if verdict == storetest.Extend {
			item.Delay = callersLease
		}
		r.Items = append(r.Items, item)
	}
	c.settling(&r)
	codes, err := storetest.Settle(c.t.Context(), c.s, p, r)
	if err == nil {
		c.settled(&r, codes)
	}
	return err
}

// delivered notes deliveries: each message must come with a higher attempt each time.
func (c *callers) delivered(deliveries []store.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range deliveries {
		a := c.accounts[d.Receipt.ID]
		switch {
		case a == nil || string(d.Body) != d.Receipt.ID.String():
			c.t.Errorf("delivered %v with the body %q", d.Receipt.ID, d.Body)
		case a.left || d.Receipt.Attempt <= a.attempt:
			c.t.Errorf("attempt %d of %v after %+v", d.Receipt.Attempt, d.Receipt.ID, *a)
		default:
			a.attempt = d.Receipt.Attempt
		}
	}
}

func (c *callers) settling(r *store.SettleRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, item := range r.Items {
		switch a := c.accounts[item.Receipt.ID]; r.Verdict {
		case store.Ack:
			a.leaving = true
		case store.Nack:
			a.nacking++
		default: // the message stays as it is
		}
	}
}

func (c *callers) settled(r *store.SettleRequest, codes []store.Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, item := range r.Items {
		if codes[i] != store.CodeOK {
			c.t.Errorf("%v: %s of a lease that was held: %v", item.Receipt.ID, r.Verdict, codes[i])
		}
		switch a := c.accounts[item.Receipt.ID]; r.Verdict {
		case store.Ack:
			a.left = true
			c.live--
		case store.Nack:
			a.nacked++
		default: // the message stays as it is
		}
	}
}

// merge merges whenever it is asked for.
func (c *callers) merge() error {
	select {
	case <-c.merges:
	case <-time.After(time.Millisecond): // so that the end of the round is noticed
		return nil
	}
	log := c.s.care.log
	oldest, active := log.Ends()
	if oldest == active {
		return log.Roll()
	}
	return c.s.care.merge(c.t.Context(), oldest)
}

// drain takes out everything that is left.
func (c *callers) drain() {
	c.t.Helper()
	c.clock.move(2 * callersLease * time.Millisecond)
	c.disk.Before, c.disk.BeforeRead = nil, nil
	if err := c.open(); err != nil {
		c.t.Fatal(err)
	}
	defer mustClose(c.t, c.s)
	left := map[store.ID]bool{}
	for id, a := range c.accounts {
		if a.sent && !a.left {
			left[id] = true
		}
	}
	for index := range callersPartitions {
		for _, id := range c.takeAll(store.Partition{Queue: "q", Index: index}) {
			if !left[id] {
				c.t.Errorf("%v was delivered once more than it should have been", id)
			}
			delete(left, id)
		}
	}
	for id := range maps.Keys(left) {
		c.t.Errorf("%v was not delivered in the end", id)
	}
}

func (c *callers) takeAll(p store.Partition) (ids []store.ID) {
	c.t.Helper()
	for {
		got, err := c.s.Claim(c.t.Context(), p, store.ClaimRequest{
			Consumer: "last", Number: uint64(c.number.Add(1)), Max: 100, Lease: callersLease, AckOnClaim: true,
		})
		if err != nil {
			c.t.Fatal(err)
		}
		if len(got.Deliveries) == 0 {
			return ids
		}
		for _, d := range got.Deliveries {
			ids = append(ids, d.Receipt.ID)
		}
	}
}
