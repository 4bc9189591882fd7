package consumer

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// role is what a consumer does for a partition. Roles keep the cost of a message independent of the
// number of consumers. A wrong one, because consumers have joined or left, costs calls or some
// milliseconds: every consumer may claim at any time.
type role int

const (
	// onDuty claims when a message becomes due, and at hints. So do consumers that do not know
	// their duties yet.
	onDuty role = iota
	// standby does so later by standbyAfter, because the one on duty can hang.
	standby
	// reserve looks now and then, because both can hang.
	reserve
)

const (
	// guardPoll is the longest sleep of a consumer on duty or standby, and of a caller that waits
	// for messages: hints can be lost, and another consumer may have died while holding messages.
	// With store.MinLease it ensures that those are delivered again within lease + 1 s.
	guardPoll = 2 * time.Second
	// quietPoll replaces it when nothing is due sooner, no lease ends sooner, no message has come for
	// quietAfter, and the store's hints arrive. When the server of the subscription hangs, that they
	// do not arrive is noticed after 20 s, so a queue in use is looked at more often.
	quietPoll  = 10 * time.Second
	quietAfter = 30 * time.Second
	// standbyAfter is less than 1 s, so that the standby finds messages whose leases ran out
	// within lease + 1 s.
	standbyAfter = 900 * time.Millisecond
	// helpAfter is how long a consumer has no permits for a claim before it calls for help. Fast
	// handlers return sooner.
	helpAfter = 10 * time.Millisecond
	// helpEvery is the interval of its further calls.
	helpEvery = time.Second
	// giveWayFor is how long a consumer that released messages does not claim, so that a helper
	// gets them. It is longer than a helper needs to hear the call and the hint of the release.
	giveWayFor = 100 * time.Millisecond
	// helpFor is for how long a consumer that was called, or found that the one on duty did not
	// claim, acts as if it were on duty.
	helpFor = 2 * time.Second
	// breather is the least sleep after a claim that handed out nothing although messages are
	// due. It prevents a busy loop.
	breather = time.Millisecond
)

// newDuties returns what a consumer has to do for each partition. hints: the store's hints arrive.
func newDuties(partitions int, hints *atomic.Bool) []*duty {
	all := make([]*duty, partitions)
	for i := range all {
		all[i] = &duty{partition: i, hints: hints}
	}
	return all
}

// duty is what one consumer has to do for one partition.
type duty struct {
	partition int
	post      *post        // nil: always on duty, because the consumer is pinned to the partition
	hints     *atomic.Bool // the store's hints arrive

	mu      sync.Mutex
	acting  time.Time // the consumer acts as if it were on duty until then
	called  int       // consumers that were called for help at heard
	heard   time.Time
	yields  time.Time // the consumer does not claim until then
	delayed bool      // a delayed hint is pending
	found   time.Time // a claim handed out messages then
	other   bool      // another consumer was on duty when gained was called last
}

// known returns the duties, nil while they are not known.
func (d *duty) known() *store.Duties {
	if d.post == nil {
		return nil
	}
	k := d.post.duties.Load()
	if k == nil || k.Consumers == 0 || d.partition >= len(k.Owners) || k.Owners[d.partition] < 0 {
		return nil
	}
	return k
}

// distance returns how many consumers come before this one, from the one on duty, and how many
// consumers there are. One on trial is next to the one on duty, because those that have joined may be
// dead, all of them.
func (d *duty) distance() (distance, consumers int) {
	k := d.known()
	if k == nil {
		return 0, 1
	}
	if k.Index < 0 && k.Consumers < store.MaxRanked {
		return 1, k.Consumers + 1
	}
	if k.Index < 0 { // more than are ranked
		return k.Consumers, k.Consumers + 1
	}
	return (k.Index - k.Owners[d.partition] + k.Consumers) % k.Consumers, k.Consumers
}

// gained reports whether the consumer has become the one on duty since the last call.
func (d *duty) gained() bool {
	distance, _ := d.distance()
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.other
	d.other = distance > 0
	return before && !d.other
}

func (d *duty) role(now time.Time) role {
	distance, _ := d.distance()
	if distance == 0 {
		return onDuty
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case now.Before(d.acting):
		return onDuty
	case distance == 1:
		return standby
	}
	return reserve
}

// pause returns how long to sleep after a claim. wait is the time until the next message is due or
// the next lease runs out; some: the claim has handed out messages.
func (d *duty) pause(wait time.Duration, some bool) time.Duration {
	if some && wait == 0 {
		return 0 // there is more
	}
	most := guardPoll
	if d.quiet(some) && wait >= quietPoll && d.hints.Load() {
		most = quietPoll
	}
	switch d.role(time.Now()) {
	case onDuty:
		if !some {
			wait = max(wait, breather)
		}
		return min(wait, spread(most))
	case standby:
		return min(wait+standbyAfter, spread(most))
	case reserve:
	}
	_, consumers := d.distance()
	return spread(most * time.Duration(consumers)) // together as often as the standby
}

// quiet reports whether no claim has handed out messages for quietAfter. some: the last one has.
func (d *duty) quiet(some bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if some || d.found.IsZero() {
		d.found = now
	}
	return now.Sub(d.found) >= quietAfter
}

// spread returns d plus or minus up to an eighth, so that consumers do not look at the same time.
func spread(d time.Duration) time.Duration { return d - rand.N(d/4+1) + d/8 }

// act makes the consumer act as if it were on duty for some time.
func (d *duty) act(span time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if until := time.Now().Add(span); until.After(d.acting) {
		d.acting = until
	}
}

// giveWay leaves the messages that are due to other consumers, if there are any, for some time.
func (d *duty) giveWay() {
	_, consumers := d.distance()
	if consumers < 2 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.yields = time.Now().Add(giveWayFor)
}

// givesWay returns for how long the consumer does not claim.
func (d *duty) givesWay() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.yields)
}

// help notes a call for helpers, and reports whether the consumer is one of them, or on duty.
func (d *duty) help(helpers int) bool {
	distance, _ := d.distance()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if helpers > d.called || now.Sub(d.heard) >= helpEvery {
		d.called, d.heard = helpers, now
	}
	if distance > helpers {
		return false
	}
	if until := now.Add(helpFor); until.After(d.acting) {
		d.acting = until
	}
	return true
}

// calls returns how many consumers to call for help: the standby, or, of one that helps, twice as
// many as come before it. So each call doubles the number until one of them has permits left. It
// returns 0 if there are no others, as many have been called lately, or the consumer has no reason to
// look at the partition now.
func (d *duty) calls() int {
	now := time.Now()
	distance, consumers := d.distance()
	if consumers < 2 || d.role(now) != onDuty {
		return 0
	}
	n := min(max(1, 2*distance), consumers-1, store.MaxRanked)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.called >= n && now.Sub(d.heard) < helpEvery {
		return 0
	}
	d.called, d.heard = n, now
	return n
}
