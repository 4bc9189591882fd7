package consumer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// fetch claims the messages of one partition.
type fetch struct {
	config    *Config
	partition store.Partition
	role      string
	work      *work
	outage    *outage
	overdue   *overdue
	gate      *gate
	duty      *duty
	runner    *runner // set by start
	number    uint64  // of the last claim
	answered  int     // the most deliveries that a claim has handed out
	err       error   // why it cannot continue
}

func newFetch(c *Config, index int, w *work) *fetch {
	return &fetch{
		config: c, partition: store.Partition{Queue: c.Queue, Index: index},
		role: "fetch " + strconv.Itoa(index), work: w, outage: w.outage,
		overdue: &overdue{note: func(late bool) {
			if late { // capacity.claimed notes the end of a claim
				w.capacity.claimLate(index)
			}
		}},
		gate: w.gates[index], duty: w.duties[index],
	}
}

// start makes the fetcher claim when it is rung, until ctx ends; a claim that is in flight then is
// finished, in life. It calls fail after an error that retries do not end.
func (f *fetch) start(ctx, life context.Context, fail func(error)) {
	f.runner = f.work.claiming.add(func() time.Duration {
		wait, err := f.fetch(ctx, life)
		if err != nil {
			f.err = err
			fail(err)
			return forever
		}
		return wait
	})
}

// ring makes the fetcher claim again, now or when it gets permits.
func (f *fetch) ring() { f.runner.ring() }

// fetch claims once, and returns how long to sleep until the next claim.
func (f *fetch) fetch(ctx, life context.Context) (time.Duration, error) {
	if d := f.duty.givesWay(); d > 0 {
		return d, nil
	}
	most := f.take(ctx)
	if most == 0 {
		return forever, nil
	}
	wait, some, err := f.claim(ctx, life, most)
	if err != nil {
		return forever, err
	}
	if some && f.duty.role(time.Now()) != onDuty {
		f.standIn(ctx)
	}
	return f.duty.pause(wait, some), nil
}

// take waits until permits are free, and calls for help while there are none; 0 if ctx ended.
func (f *fetch) take(ctx context.Context) int {
	waiter, most := f.work.capacity.ask(f.partition.Index, store.MaxBatch)
	if most > 0 {
		return most
	}
	timer := time.NewTimer(helpAfter)
	defer timer.Stop()
	for {
		select {
		case most := <-waiter.granted:
			return most
		case <-timer.C:
			f.work.callForHelp(ctx, f.duty)
			timer.Reset(helpEvery)
		case <-ctx.Done():
			f.work.capacity.leave(waiter)
			return 0
		}
	}
}

// standIn makes the consumer act as if it were on duty, because it has found messages that the one on
// duty should have claimed. That one, if it lives, must look at the partition to know when the leases
// of these messages end.
func (f *fetch) standIn(ctx context.Context) {
	f.duty.act(helpFor)
	f.work.notify(ctx, store.Event{Kind: store.EventHelp, Partition: f.partition.Index, Helpers: 1})
}

// hint makes the fetcher claim, if that is its role.
func (f *fetch) hint() {
	switch f.duty.role(time.Now()) {
	case onDuty:
		f.ring()
	case standby:
		f.ringLater()
	case reserve:
	}
}

// ringLater makes a consumer on standby claim, however many hints arrive meanwhile.
func (f *fetch) ringLater() {
	f.duty.mu.Lock()
	defer f.duty.mu.Unlock()
	if f.duty.delayed {
		return
	}
	f.duty.delayed = true
	time.AfterFunc(standbyAfter, func() {
		f.duty.mu.Lock()
		f.duty.delayed = false
		f.duty.mu.Unlock()
		f.ring()
	})
}

// claim claims up to most messages. It returns for how long no more will be due, and whether there
// were some.
func (f *fetch) claim(ctx, life context.Context, most int) (wait time.Duration, some bool, err error) {
	f.number++
	request := store.ClaimRequest{
		Consumer: f.config.Name, Number: f.number, Max: most,
		Lease: f.config.Lease.Milliseconds(), AckOnClaim: f.config.AtMostOnce, Of: f.config.Partitions,
	}
	f.overdue.begin()
	result, began, err := f.ask(ctx, life, request)
	f.overdue.end()
	f.answered = max(f.answered, len(result.Deliveries))
	bytes := 0
	for i := range result.Deliveries {
		bytes += size(&result.Deliveries[i])
	}
	some = len(result.Deliveries) > 0
	if some {
		f.work.accept(life, f.partition, result.Deliveries, began)
	}
	// Not earlier: until accept has them, deliveries must count as asked for, so that their slots
	// stay reserved.
	f.work.capacity.claimed(f.partition.Index, len(result.Deliveries), bytes, some && result.Wait == 0)
	return result.Wait, some, err
}

// ask repeats a claim until its outcome is known: after a new claim, deliveries of the old one
// would be handled only when their leases have run out. From the first failure on, the permits
// reserved for it are lent to other partitions. It does not call the store while the gate is
// shut. began is the time of the first try.
func (f *fetch) ask(ctx, life context.Context, request store.ClaimRequest) (result store.ClaimResult, began time.Time, err error) {
	for try := 0; ; try++ {
		open := f.gate.wait(ctx)
		last, timeout := ctx.Err() != nil, callTimeout
		if last {
			if try == 0 || !open {
				return store.ClaimResult{}, began, nil
			}
			timeout = unwind
		}
		if try == 0 {
			began = time.Now()
		}
		call, end := f.gate.call(life, timeout)
		request.Again = try > 0
		result, err := f.config.Store.Claim(call, f.partition, request)
		heldBack := err != nil && errors.Is(context.Cause(call), errHeldBack)
		end()
		switch {
		case err == nil:
			f.outage.over(f.role)
			return result, began, nil
		case hopeless(err):
			return store.ClaimResult{}, began, err
		case last:
			return store.ClaimResult{}, began, nil //nolint:nilerr // stopping: what was handed out comes back with the end of its lease
		}
		f.overdue.declare()
		if !heldBack {
			f.outage.begin(f.role, err)
		}
		pause(ctx, retryDelay(try))
	}
}

// wake passes on the store's hints. They only reduce latency: nothing depends on them.
type wake struct {
	config   *Config
	outage   *outage
	held     *holdings
	fetchers []*fetch
	arrive   *atomic.Bool // hints arrive
}

// Run watches until ctx ends.
func (w *wake) Run(ctx context.Context) {
	for try := 0; ctx.Err() == nil; try++ {
		heard := false
		err := w.config.Store.Watch(ctx, w.config.Queue, func(e store.Event) {
			heard = true
			w.outage.over("watch")
			w.pass(e)
		})
		if heard {
			try = 0
		}
		if err != nil && ctx.Err() == nil {
			w.outage.begin("watch", err)
		}
		pause(ctx, retryDelay(try))
	}
}

// fetcher returns the one of a partition; nil: the consumer does not claim from it.
func (w *wake) fetcher(partition int) *fetch {
	i, ok := slices.BinarySearchFunc(w.fetchers, partition, func(f *fetch, p int) int { return cmp.Compare(f.partition.Index, p) })
	if !ok {
		return nil
	}
	return w.fetchers[i]
}

// pass does not block.
func (w *wake) pass(e store.Event) {
	if e.Kind == store.EventStop {
		w.held.cancel(e.ID)
		return
	}
	if e.Kind == store.EventResync || e.Kind == store.EventGap {
		w.arrive.Store(e.Kind == store.EventResync)
		for _, f := range w.fetchers {
			f.hint()
		}
		return
	}
	f := w.fetcher(e.Partition)
	if f == nil {
		return
	}
	switch e.Kind {
	case store.EventHelp:
		if f.duty.help(e.Helpers) {
			f.ring()
		}
	case store.EventReset:
		f.ring()
	case store.EventLeft:
		if f.duty.role(time.Now()) == standby {
			f.duty.act(beatPeriod + helpFor) // until all know who is on duty now
			f.ring()
		}
	default:
		f.hint()
	}
}
