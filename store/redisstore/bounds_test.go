package redisstore

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

// redisCalls counts the commands that scripts run during fn, on a server that nothing else uses.
func redisCalls(r *rig, fn func()) int {
	r.t.Helper()
	r.must(r.rdb.ConfigResetStat(r.ctx()).Err())
	fn()
	stats, err := r.rdb.Info(r.ctx(), "commandstats").Result()
	r.must(err)
	n := 0
	for line := range strings.Lines(stats) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmdstat_"), ":calls=")
		calls, _, _ := strings.Cut(rest, ",")
		if c, err := strconv.Atoi(calls); err == nil && !slices.Contains([]string{"evalsha", "config|resetstat", "info"}, name) {
			n += c
		}
	}
	return n
}

// TestCallsPerBatch pins what a batch of 100 costs in redis.calls: each takes 0.3 to 0.5
// us, so a new one must be worth it.
func TestCallsPerBatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	for range 2 { // once to load the scripts
		r.push(r.messages(500, 100)...)
		r.settle(store.Release, r.claim(1)...)
		r.settle(store.Ack, r.claim(500)...)
		r.claim(1)
	}
	var ds []store.Delivery
	due := r.rdb.Time(r.ctx()).Val().UnixMilli() // the same for all
	batch := func() []store.Message {
		ms := r.messages(100, 100)
		for i := range ms {
			ms[i].Due = due
		}
		return ms
	}
	r.want("push", redisCalls(r, func() { r.push(batch()...) }), 8+1) // and a wake-up
	r.want("push behind others", redisCalls(r, func() { r.push(batch()...) }), 8)
	old := batch()
	old[99].New = false
	r.want("push of what may be there", redisCalls(r, func() { r.push(old...) }), 9)
	r.settle(store.Ack, r.claim(100)...)
	r.want("claim", redisCalls(r, func() { ds = r.claim(100) }), 12+1)
	r.want("ack", redisCalls(r, func() { r.settle(store.Ack, ds...) }), 4)
	ds = r.claim(100)
	r.want("start", redisCalls(r, func() { r.settle(storetest.Start, ds...) }), 8)
	r.want("start again", redisCalls(r, func() { r.settle(storetest.Start, ds...) }), 6)
	r.settle(store.Ack, ds...)
	r.push(batch()...)
	r.settle(store.Ack, r.claim(100)...)
	r.want("idle claim", redisCalls(r, func() { r.claim(100) }), 6)

	most, span := int64(100), int64(3600_000)
	kill := func(n int) {
		r.push(batch()[:n]...)
		r.settle(store.Reject, r.claim(n)...)
	}
	kill(100)
	_, err := r.Configure(r.ctx(), r.p.Queue, store.Change{MaxDead: &most, DeadRetention: &span})
	r.must(err)
	r.claim(100) // the first claim with the new settings
	r.want("idle claim of a queue with limits for the dead", redisCalls(r, func() { r.claim(100) }), 6+2)
	kill(100)
	r.want("claim that removes 100 dead messages", redisCalls(r, func() { r.claim(100) }), 6+2+9)
}

// TestCallsPerBatch_History pins what a history costs, in redis.calls of a batch of 100: while it
// fills, and when each message that ends removes another.
func TestCallsPerBatch_History(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	span, most := int64(3600_000), int64(300)
	_, err := r.Configure(r.ctx(), r.p.Queue, store.Change{Create: true, History: &span, MaxHistory: &most})
	r.must(err)
	held := func() []store.Delivery {
		r.push(r.messages(100, 100)...)
		return r.claim(100)
	}
	for range 2 { // once to load the scripts
		r.settle(store.Ack, held()...)
	}
	ds := held()
	r.want("ack of which all is kept", redisCalls(r, func() { r.settle(store.Ack, ds...) }), 11)
	ds = held()
	r.want("ack that pushes out as many", redisCalls(r, func() { r.settle(store.Ack, ds...) }), 11+4)
	r.want("done", r.stats().Done, most)
	r.want("idle claim", redisCalls(r, func() { r.claim(100) }), 6+2)
	r.wantClean()
}

func TestClaim_IdleWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	ms := r.messages(1, 10)
	ms[0].Delay = 60_000
	r.push(ms...)
	before := changes(r)
	for range 5 {
		r.want("deliveries", len(r.claim(10)), 0)
	}
	r.want("changes", changes(r), before)
}

func changes(r *rig) string {
	r.t.Helper()
	info, err := r.rdb.Info(r.ctx(), "persistence").Result()
	r.must(err)
	return infoFields(info)["rdb_changes_since_last_save"]
}

// skipIfShort skips a test in which one goroutine looks at scripts, which takes seconds.
func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED with -short: one goroutine looks at scripts for seconds")
	}
}

// TestScripts_WorkDoesNotGrowWithTheBacklog checks that every script does no more when 100,000
// messages are due than when 1,000 are. BenchmarkScripts_HundredThousandDue measures the time.
func TestScripts_WorkDoesNotGrowWithTheBacklog(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	batch := dueAtOnce(r)
	work := func() map[string]scriptRun {
		all := map[string]scriptRun{}
		stepsOnDue(r, batch, func(name string, run func() error) {
			var sum scriptRun
			for _, s := range scriptsRun(r, run) {
				sum.calls, sum.items = sum.calls+s.calls, sum.items+s.items
			}
			all[name] = sum
		})
		return all
	}
	fill := func(n int) {
		for range n / 500 {
			r.push(batch()...)
		}
	}
	fill(1_000)
	few := work()
	fill(100_000)
	for name, many := range work() {
		t.Logf("%s: %+v with 1,000 due, %+v with 100,000", name, few[name], many)
		// The difference allows for what only a first or a later call does, and for scans, which return
		// whole buckets. A call that found 500 messages may have looked for 500 more.
		if most := few[name].calls*11/10 + 10; many.calls > most {
			t.Errorf("%s makes %d redis.calls with 100,000 due, and %d with 1,000", name, many.calls, few[name].calls)
		}
		if most := few[name].items*11/10 + 1000; many.items > most {
			t.Errorf("%s uses %d items with 100,000 due, and %d with 1,000", name, many.items, few[name].items)
		}
	}
}

// dueAtOnce returns a function that makes 500 messages, all of them due at one instant.
func dueAtOnce(r *rig) func() []store.Message {
	due := r.rdb.Time(r.ctx()).Val().UnixMilli()
	return func() []store.Message {
		ms := r.messages(500, 100)
		for i := range ms {
			ms[i].Due = due
		}
		return ms
	}
}

// stepsOnDue passes measure the operations on 500 messages that batch makes.
func stepsOnDue(r *rig, batch func() []store.Message, measure func(name string, run func() error)) {
	r.t.Helper()
	var ds []store.Delivery
	measure("push", func() error { r.push(batch()...); return nil })
	measure("claim", func() error { ds = r.claim(500); return nil })
	measure("nack", func() error { r.settle(store.Nack, ds...); return nil })
	measure("claim again", func() error { ds = r.claim(500); return nil })
	measure("ack", func() error { r.settle(store.Ack, ds...); return nil })
	measure("list", func() error {
		_, err := r.List(r.ctx(), r.p, store.ListRequest{State: store.Ready, Limit: 500})
		return err
	})
	measure("check", func() error {
		_, err := r.Check(r.ctx(), r.p, store.CheckRequest{Cursor: "msg:0.0", Limit: 1000})
		return err
	})
	measure("purge", func() error {
		_, err := r.Purge(r.ctx(), r.p, r.purgeRequest(store.Ready, 100))
		return err
	})
	measure("stats", func() error { _, err := r.Stats(r.ctx(), r.p.Queue); return err })
	measure("forecast", func() error {
		_, err := r.Forecast(r.ctx(), r.p, store.ForecastRequest{Step: 60_000, Spans: store.MaxSpans})
		return err
	})
}

// TestPush_LargeBatchesTakeSeveralSteps: a script copies at most 1.25 MiB of records, and the whole
// batch is stored in several steps.
func TestPush_LargeBatchesTakeSeveralSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	const n, size = 60, 100 << 10
	var refs []store.Ref
	push := func() {
		refs = nil
		for i, m := range r.messages(n, size) {
			m.Key = "k" + strconv.Itoa(i)
			refs = append(refs, store.Ref{ID: m.ID})
			r.push(m)
		}
	}
	claimAll := func() []store.Delivery {
		var all []store.Delivery
		for ds := r.claim(500); len(ds) > 0; ds = r.claim(500) {
			all = append(all, ds...)
		}
		r.want("claimed", len(all), n)
		return all
	}
	push()
	for _, v := range []store.Verdict{store.Nack, store.Release, store.Ack} {
		for _, code := range r.settle(v, claimAll()...) {
			r.want(string(v), code, store.CodeOK)
		}
		r.wantClean()
	}
	push()
	codes, err := r.Cancel(r.ctx(), r.p, r.cancelRequest(refs...))
	r.must(err)
	r.want("cancelled", codes, make([]store.Code, n))
	push()
	removed, err := r.Purge(r.ctx(), r.p, r.purgeRequest(store.Ready, 500))
	r.must(err)
	r.want("purged", removed.Removed, n)
	r.wantClean()
}

func TestList_PagesOfLargeMessages(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	const n = 40
	for _, m := range r.messages(n, 100<<10) {
		r.push(m)
	}
	seen, pages := 0, 0
	for cursor := ""; ; pages++ {
		page, err := r.List(r.ctx(), r.p, store.ListRequest{State: store.Ready, Limit: 100, BodyLimit: 3, Cursor: cursor})
		r.must(err)
		for _, rec := range page.Records {
			r.want("body", []int{len(rec.Body), rec.BodySize}, []int{3, 100 << 10})
		}
		seen += len(page.Records)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	r.want("seen", seen, n)
	if pages < 1 {
		t.Error("4 MB came in one page")
	}
}

// TestList_PagesContinueWhenTheCursorsMessageIsGone walks messages with one due time.
func TestList_PagesContinueWhenTheCursorsMessageIsGone(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	ms := r.messages(50, 10)
	for i := range ms {
		ms[i].Due = 1
	}
	r.push(ms...)
	var seen []store.ID
	for cursor := ""; ; {
		page, err := r.List(r.ctx(), r.p, store.ListRequest{State: store.Ready, Limit: 7, Cursor: cursor})
		r.must(err)
		for _, rec := range page.Records {
			seen = append(seen, rec.ID)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
		_, err = r.Cancel(r.ctx(), r.p, r.cancelRequest(store.Ref{ID: seen[len(seen)-1]}))
		r.must(err)
	}
	for i := range ms {
		r.want("order", seen[i], ms[i].ID)
	}
}

// TestCalls_HashStaysSmall: callers that make no more calls are forgotten.
func TestCalls_HashStaysSmall(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.push(r.messages(1, 10)...)
	for i := range 50 {
		r.must(r.rdb.HSet(r.ctx(), r.key("calls"), "p:old"+strconv.Itoa(i), "1000 00000000000000000001 ").Err())
	}
	for i := range 100 {
		request := r.request(r.messages(1, 10))
		request.Producer = "new" + strconv.Itoa(i)
		_, err := r.Push(r.ctx(), r.p, request)
		r.must(err)
	}
	n, err := r.rdb.HLen(r.ctx(), r.key("calls")).Result()
	r.must(err)
	if n > 120 {
		t.Errorf("%d fields after 100 new callers, 50 old ones should be gone", n)
	}
}
