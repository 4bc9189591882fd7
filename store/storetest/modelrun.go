package storetest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dueq-dev/dueq/store"
)

var modelSteps = flag.Int("storetest.steps", 0, "storetest: operations of one run of the model test, on average (0: what the adapter asks for)")

// runModel makes random operations, faults included, on the store and on the model. It compares
// every answer and, after each operation, all that the store shows. Each run has a queue of its own.
func runModel(t *testing.T, h Harness) {
	steps := h.ModelSteps
	if steps == 0 {
		steps = 30
	}
	if *modelSteps > 0 {
		steps = *modelSteps
	}
	history := filepath.Join(os.TempDir(), fmt.Sprintf("dueq-history-%s-%d.txt", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid()))
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		r := newTrial(rt, t, h, store.Partition{Queue: fmt.Sprintf("model-%d", runs)})
		defer func() {
			if rt.Failed() {
				r.save(history)
			}
		}()
		for i, s := range rapid.SliceOfN(rapid.Custom(drawStep), (steps+1)/2, 2*steps).Draw(rt, "steps") {
			r.run(i, s)
		}
	})
	if t.Failed() {
		t.Logf("the history of the smallest failing run is in %s", history)
		return
	}
	Audit(t, h.Store)
}

// step is one operation of a run. Its numbers choose among the messages and receipts that exist, so
// that each step is valid after any others.
type step struct {
	Do      string
	Who     int   // producer or consumer
	Count   int   // items, or deliveries wanted
	Pick    []int // messages, receipts: counted from the last one
	Key     int
	Span    int // see spans
	Verdict int
	Flag    bool
}

// actions, each as often as its probability demands. The first does nothing: rapid shrinks failing
// runs to it.
var actions = strings.Fields(`
	rest push push push push push claim claim claim claim claim settle settle settle settle settle settle
	cancel cancel reschedule reschedule redrive redrive purge configure delete time time time
	repeat repeat replay replay replay reopen`)

func drawStep(t *rapid.T) step {
	return step{
		Do:      actions[uniform(t, len(actions))],
		Who:     uniform(t, 3),
		Count:   1 + uniform(t, 4),
		Pick:    []int{uniform(t, 13), uniform(t, 13), uniform(t, 13), uniform(t, 13)},
		Key:     uniform(t, 6),
		Span:    uniform(t, 10),
		Verdict: uniform(t, len(verdicts)+1),
		Flag:    uniform(t, 2) == 1,
	}
}

// uniform draws 0 to n-1. Rapid's own ranges prefer their ends, so that actions in the middle of
// the list would hardly ever be drawn.
func uniform(t *rapid.T, n int) int {
	value, size := 0, 1
	for ; size < 4*n; size *= 2 {
		value *= 2
		if rapid.Bool().Draw(t, "bit") {
			value++
		}
	}
	return value * n / size
}

// spans of delays and clock steps, ms. With a real clock, messages are due now or long after the
// test, so that the duration of the test does not matter.
var (
	manualSpans = [10]int64{0, 0, 0, 1, 7, 100, 1000, 5000, 60_000, hour}
	realSpans   = [10]int64{0, 0, 0, 0, 0, 0, hour, hour, 2 * hour, 3 * hour}
	schedules   = []string{"", daily, hourly, daily}
	clockSteps  = [10]int64{1, 7, 100, 999, 1000, 1001, 5000, 60_000, -1000, -60_000} // µs are added
)

// run makes one step on the store and the model.
func (r *trial) run(i int, s step) {
	if s.Do == actions[0] {
		return
	}
	do := map[string]func(step){
		"push": r.push, "claim": r.claim, "settle": r.settle, "cancel": r.cancel, "reschedule": r.reschedule, "redrive": r.redrive,
		"purge": r.purge, "configure": r.configure, "delete": r.deleteQueue, "time": r.time, "reopen": r.reopen,
		"repeat": func(step) { r.replay(0) }, "replay": func(s step) { r.replay(s.Pick[0]) },
	}[s.Do]
	r.logf("%d %s", i, s.Do)
	do(s)
	r.compare(s)
}

func (r *trial) span(s step) int64 {
	if r.h.Advance == nil {
		return realSpans[s.Span]
	}
	return manualSpans[s.Span]
}

func (r *trial) push(s step) {
	messages := make([]store.Message, s.Count)
	for i := range messages {
		messages[i] = r.message(s, i)
	}
	r.call(pushCall(r, store.PushRequest{Producer: fmt.Sprintf("p%d", s.Who), Number: r.number(fmt.Sprintf("p%d", s.Who)), Messages: messages}))
}

// message makes the i-th message of a push: usually a new one, sometimes one that has been sent
// before, as it was or with another body.
func (r *trial) message(s step, i int) store.Message {
	pick := s.Pick[i]
	if e := r.m.messages[r.pickID(pick)]; e != nil && s.Flag && pick%3 == 0 {
		m := e.Message
		m.Due, m.Delay, m.Replace = 0, 0, false
		if pick%2 == 1 {
			m.Body = []byte("conflict")
		}
		return m
	}
	m := store.Message{ID: r.newID(), Body: fmt.Appendf(nil, "%d", r.ids), MaxAttempts: 1 + pick%3, Delay: r.span(s)}
	if k := s.Key - i; k > 2 {
		m.Key = fmt.Sprintf("k%d", k)
		m.Replace = s.Flag
		m.Repeat = schedules[pick%len(schedules)]
	}
	if pick%4 == 1 && m.Repeat == "" {
		m.TTL = m.Delay + max(r.span(step{Span: 9 - s.Span}), 1)
		if r.h.Advance == nil {
			m.TTL = m.Delay + hour
		}
	}
	r.dedup(&m, s, pick)
	if pick%5 == 2 {
		m.Headers = map[string]string{"n": fmt.Sprint(pick)}
	}
	return m
}

func (r *trial) claim(s step) {
	lease := int64(longLease)
	if r.h.Advance != nil {
		lease = store.MinLease * int64(1+s.Span)
	}
	consumer := fmt.Sprintf("c%d", s.Who)
	r.call(claimCall(r, store.ClaimRequest{
		Consumer: consumer, Number: r.number(consumer), Max: s.Count, Lease: lease, AckOnClaim: s.Flag && s.Key == 0,
	}))
}

func (r *trial) settle(s step) {
	if s.Verdict == len(verdicts) {
		r.next(s)
		return
	}
	request := store.SettleRequest{Verdict: verdicts[s.Verdict]}
	for _, pick := range s.Pick[:s.Count] {
		item := store.Settlement{Receipt: r.pickReceipt(pick), Delay: r.span(s)}
		if lengthens(request.Verdict) {
			item.Delay = store.MinLease + r.span(s)
		}
		if s.Flag && (request.Verdict == store.Nack || request.Verdict == store.Snooze || request.Verdict == store.Reject) {
			item.Failure = fmt.Sprintf("failure %d", pick)
		}
		if request.Verdict == store.Again && s.Flag {
			item.Next = r.occurrence(s, pick)
			if item.Next.Due != 0 {
				item.Delay = 0
			}
		}
		if s.Flag && (request.Verdict == store.Nack || request.Verdict == store.Reject) {
			item.Next, item.Letter = r.following(s), r.newID()
		}
		request.Items = append(request.Items, item)
	}
	r.call(settleCall(r, request))
}

// next settles deliveries with Next.
func (r *trial) next(s step) {
	request, ending := store.SettleRequest{Verdict: store.Next}, map[store.ID]bool{}
	var receipts []store.Receipt
	for _, pick := range s.Pick[:s.Count] {
		if receipt := r.pickReceipt(pick); !ending[receipt.ID] { // the port does not specify the order for equal receipts
			receipts, ending[receipt.ID] = append(receipts, receipt), true
		}
	}
	for i, receipt := range receipts {
		item := store.Settlement{Receipt: receipt}
		for n := range 1 + (i+s.Key)%3 {
			m := r.message(s, (i+n)%len(s.Pick))
			all := append(slices.Clip(item.Messages), m)
			if _, same := store.SameNames(all); same == "" && !ending[m.ID] {
				item.Messages = all
			}
		}
		if len(item.Messages) > 0 {
			request.Items = append(request.Items, item)
		}
	}
	if len(request.Items) > 0 {
		r.call(settleCall(r, request))
	}
}

// occurrence makes the Occurrence of an Again: sometimes with a new body, a TTL, or an instant.
func (r *trial) occurrence(s step, pick int) *store.Occurrence {
	o := &store.Occurrence{NewBody: pick%2 == 0}
	if o.NewBody {
		o.Body = fmt.Appendf(nil, "again %d", s.Pick[3])
	}
	switch pick % 5 {
	case 1:
		o.TTL = r.span(s) + max(r.span(step{Span: 9 - s.Span}), 1)
		if r.h.Advance == nil {
			o.TTL = r.span(s) + hour
		}
	case 2:
		o.Due = r.instant(s)
	case 3:
		o.Due = r.m.floor() + store.MaxDelay + hour
	case 4:
		o.Repeat = schedules[1+s.Key%2]
	}
	return o
}

// following makes the occurrence that follows one that fails for good, with the schedule that the
// message has or with another one.
func (r *trial) following(s step) *store.Occurrence {
	o := &store.Occurrence{Due: r.instant(s), Repeat: schedules[1+s.Key%2]}
	if s.Pick[3] == 0 {
		o.Due = r.m.floor() + store.MaxDelay + hour
	}
	return o
}

// ref returns a reference to a message, by its id or by a key.
func (r *trial) ref(s step, i int) store.Ref {
	if s.Flag && i == 0 {
		return byKey(fmt.Sprintf("k%d", s.Key))
	}
	return byID(r.pickID(s.Pick[i]))
}

// manager returns the name of a caller of Cancel, Reschedule, Redrive and Purge.
func (r *trial) manager(s step) (caller string, number uint64) {
	caller = fmt.Sprintf("m%d", s.Pick[0]%2)
	return caller, r.number(caller)
}

func (r *trial) cancel(s step) {
	var refs []store.Ref
	for i := range s.Count {
		refs = append(refs, r.ref(s, i))
	}
	caller, number := r.manager(s)
	r.call(cancelCall(r, store.CancelRequest{Caller: caller, Number: number, Refs: refs, Dead: s.Flag && s.Key%2 == 1}))
}

func (r *trial) reschedule(s step) {
	var moves []store.Move
	for i := range s.Count {
		m := store.Move{Ref: r.ref(s, i), Delay: r.span(s)}
		switch {
		case i == 1 && s.Pick[3]%3 == 0:
			m.Due, m.Delay = r.instant(s), 0
		case i == 2 && s.Pick[3]%4 == 0:
			m.Due, m.Delay = r.m.floor()+store.MaxDelay+hour, 0
		}
		moves = append(moves, m)
	}
	caller, number := r.manager(s)
	r.call(rescheduleCall(r, store.RescheduleRequest{Caller: caller, Number: number, Moves: moves}))
}

// instant returns a due time in the past or in the future; with a real clock not near now.
func (r *trial) instant(s step) int64 {
	switch {
	case s.Pick[2]%2 == 1:
		return r.m.floor() - hour
	case r.h.Advance == nil:
		return r.m.floor() + hour + r.span(s)
	}
	return r.m.floor() + r.span(s)
}

func (r *trial) redrive(s step) {
	var items []store.Redrive
	for i, e := range r.m.inOrder(store.Dead) {
		if len(items) < s.Count {
			items = append(items, store.Redrive{ID: e.ID, Delay: int64(i%2) * r.span(s)})
		}
	}
	if s.Flag || len(items) == 0 {
		items = append(items, store.Redrive{ID: r.pickID(s.Pick[0])})
	}
	caller, number := r.manager(s)
	r.call(redriveCall(r, store.RedriveRequest{Caller: caller, Number: number, Items: items}))
}

func (r *trial) purge(s step) {
	request := store.PurgeRequest{State: []store.State{store.Scheduled, store.Ready, store.Dead, store.Done}[(s.Who+s.Pick[3])%4], All: !s.Flag, Limit: s.Count}
	request.Caller, request.Number = r.manager(s)
	if s.Flag {
		request.IDs = []store.ID{r.pickID(s.Pick[0]), r.pickID(s.Pick[1]), r.pickID(s.Pick[2])}
	}
	r.call(purgeCall(r, request))
}

// configure pauses or resumes the queue, or limits its live or dead messages; usually it removes
// pause and limits.
func (r *trial) configure(s step) {
	change := store.Change{Create: true, Paused: pointer(s.Flag && s.Key > 2), MaxMessages: pointer(int64(0))}
	if s.Who == 0 {
		change.MaxMessages = pointer(int64(s.Pick[0] + 1))
	}
	if s.Pick[2]%2 == 0 { // usually it is not changed
		change.History, change.MaxHistory = pointer(r.history(s)), pointer(int64(s.Pick[3]))
	}
	change.DeadRetention, change.MaxDead = pointer(int64(0)), pointer(int64(0))
	switch {
	case s.Who == 1 && s.Pick[0]%2 == 0:
		change.MaxDead = pointer(int64(s.Pick[1] % 4))
	case s.Who == 1:
		change.DeadRetention = pointer(r.span(step{Span: 9 - s.Span}))
	}
	r.call(configureCall(r, change))
}

// deleteQueue deletes the queue, usually only if it is empty, and makes another one. Calls from
// before are not repeated: a store need not remember them.
func (r *trial) deleteQueue(s step) {
	force := s.Flag && s.Key == 0
	err := r.s.DeleteQueue(r.outer.Context(), r.p.Queue, store.DeleteRequest{Force: force})
	r.logf("  delete queue, force %v -> %v", force, err)
	if len(r.m.messages) > 0 && !force {
		if !errors.Is(err, store.ErrNotEmpty) {
			r.t.Fatalf("delete queue: %v, want ErrNotEmpty", err)
		}
		return
	}
	if err != nil {
		r.t.Fatalf("delete queue: %v", err)
	}
	r.m, r.past = newModel(r.clock()), nil
	r.makeQueue()
}

// history returns how long done messages are kept; usually they are.
func (r *trial) history(s step) int64 {
	switch {
	case s.Pick[1]%4 == 0:
		return 0
	case r.h.Advance == nil:
		return hour
	}
	return manualSpans[5+s.Span/2]
}

// time advances the clock, sets it back, or makes all leases run out.
func (r *trial) time(s step) {
	if r.h.Advance != nil {
		r.advance(clockSteps[s.Span], int64(s.Pick[0])*77)
		return
	}
	if r.h.ExpireLeases == nil {
		return
	}
	r.h.ExpireLeases(r.outer, r.p)
	r.adoptLeases()
}

// reopen continues with another store on the same data. Claims from before are not repeated: a
// store may keep those that got nothing in memory only.
func (r *trial) reopen(step) {
	if r.h.Reopen != nil {
		r.s = r.h.Reopen(r.outer)
		r.past = slices.DeleteFunc(r.past, func(q request) bool { return q.name == "claim" })
		for _, e := range r.m.messages {
			e.reopened = true
		}
	}
}
