package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dueq-dev/dueq/store"
)

func (d *desk) purge(state store.State, limit int, ids ...store.ID) int {
	d.t.Helper()
	res := d.purgeAs(store.PurgeRequest{
		Caller: "manager", Number: d.number("manager"), State: state, All: len(ids) == 0, IDs: ids, Limit: limit,
	})
	if res.Stale {
		d.t.Fatal("purge: stale")
	}
	return res.Removed
}

func (d *desk) purgeAs(r store.PurgeRequest) store.PurgeResult {
	d.t.Helper()
	res, err := d.s.Purge(d.t.Context(), d.p, r)
	d.noError("purge", err)
	return res
}

func (d *desk) wantError(what string, err, want error) {
	d.t.Helper()
	if !errors.Is(err, want) {
		d.t.Fatalf("%s: %v, want %v", what, err, want)
	}
}

// expiry holds what a message's TTL promises.
func expiry() []testCase {
	return []testCase{
		{"NotDelivered", "", func(d *desk) {
			id := d.send(ttl(shortTTL), key("k"))
			d.expire(id)
			d.takeNothing("c")
			d.wantGone(byID(id), byKey("k"))
			d.wantCounters(store.Counters{Sent: 1, Expired: 1})
		}},
		{"NotAgainAfterANack", "", func(d *desk) {
			r, span, _ := d.takeExpiring()
			d.outlive(span)
			d.wantSettled(store.Nack, r, store.CodeOK)
			d.takeNothing("c")
			d.wantGone(byID(r.ID))
		}},
		{"HolderMayFinish", "", func(d *desk) {
			r, span, expired := d.takeExpiring()
			d.outlive(span)
			d.wantState(r.ID, store.Leased)
			d.wantSettled(store.Ack, r, store.CodeOK)
			d.wantCounters(store.Counters{Sent: expired + 1, Expired: expired, Delivered: 1, Acked: 1})
		}},
		{"DueBeyondTheTTLIsRefused", "", func(d *desk) {
			now := d.get(byID(d.send(delay(hour)))).At - hour
			m := d.message(ttl(hour), due(now+2*hour), key("k"))
			d.wantPushed(d.push(m, d.message(ttl(2*hour), due(now+hour))), store.CodeExpires, store.CodeOK)
			d.wantGone(byID(m.ID), byKey("k"))
		}},
		{"EndsWithARedrive", "", func(d *desk) {
			for _, k := range []string{"", "k"} {
				r, span, _ := d.takeExpiring(key(k))
				id := r.ID
				d.wantSettled(store.Reject, r, store.CodeOK)
				d.outlive(span)
				d.wantPushed(d.redrive(id), store.CodeOK)
				d.wantEqual("expiry", d.wantState(id, store.Ready).Expiry, int64(0))
				if k != "" { // nobody may take the key as that of an expired message
					d.wantPushed(d.push(d.message(key(k))), store.CodeDuplicate)
				}
				d.wantSettled(store.Ack, d.takeOf(id), store.CodeOK)
			}
		}},
		{"LongTTLDoesNotMatter", "", func(d *desk) {
			id := d.send(ttl(hour))
			v := d.take("c")
			if v.Expiry < v.Due+hour-1 || v.Expiry > v.Due+hour+1 {
				d.t.Fatalf("expiry %d, due %d, ttl %d", v.Expiry, v.Due, hour)
			}
			d.wantEqual("expiry", d.get(byID(id)).Expiry, v.Expiry)
		}},
	}
}

// deadLetters holds how a message dies and comes back.
func deadLetters() []testCase {
	return []testCase{
		{"OnlyFailuresUseUpAttempts", "", testOnlyFailuresCount},
		{"RejectKillsAtOnce", "", testReject},
		{"FailureTexts", "", testFailureTexts},
		{"Redrive", "", testRedrive},
		{"RedriveOnlyTheDead", "", testRedriveOnlyDead},
		{"RedriveAfterADelay", "", testRedriveDelay},
		{"ClockThatWasSetBack", manualClock, func(d *desk) {
			d.wantInOrderOfTime(store.Dead, func() store.ID { return d.dead(key("k")) })
		}},
	}
}

func testOnlyFailuresCount(d *desk) {
	id := d.send(attempts(3))
	for _, step := range []struct {
		verdict store.Verdict
		want    store.Code
	}{
		{store.Nack, store.CodeOK},
		{store.Release, store.CodeOK},
		{store.Release, store.CodeOK},
		{store.Nack, store.CodeOK},
		{store.Release, store.CodeOK},
		{store.Nack, store.CodeDead},
	} {
		d.wantSettled(step.verdict, d.takeOf(id), step.want)
	}
	rec := d.wantState(id, store.Dead)
	d.wantEqual("attempts", rec.Attempt, 6)
	d.wantEqual("failures", rec.Failures, 3)
	d.takeNothing("c")
}

func testReject(d *desk) {
	id := d.dead(attempts(20), key("k"))
	rec := d.wantState(id, store.Dead)
	d.wantEqual("record", strip(rec), store.Record{
		ID: id, Key: "k", BodySize: 4, State: store.Dead, MaxAttempts: 20, Attempt: 1, Failures: 1, LastFailure: "rejected",
	})
	d.wantEqual("dead", recordIDs(d.list(store.Dead, 10)), []store.ID{id})
	d.takeNothing("c")
	d.wantCounters(store.Counters{Sent: 1, Delivered: 1, Rejected: 1, DeadLettered: 1})
}

func testFailureTexts(d *desk) {
	id := d.send()
	long := strings.Repeat("ü", store.MaxFailure/2)
	last := ""
	for _, text := range []string{"first", "with\nlines and \x00", "", long, "", "quo\"te"} {
		item := store.Settlement{Receipt: d.takeOf(id), Failure: text}
		d.settleAs(store.SettleRequest{Verdict: store.Nack, Items: []store.Settlement{item}})
		if text != "" {
			last = text
		}
		d.wantEqual("text", d.get(byID(id)).LastFailure, last)
	}
}

func testRedrive(d *desk) {
	id := d.send(attempts(2), key("k"))
	d.wantSettled(store.Nack, d.takeOf(id), store.CodeOK)
	d.wantSettled(store.Nack, d.takeOf(id), store.CodeDead)
	d.wantPushed(d.redrive(id), store.CodeOK)
	rec := d.wantState(id, store.Ready)
	d.wantEqual("failures", rec.Failures, 0)
	d.wantEqual("attempts", rec.Attempt, 2)
	d.wantPushed(d.redrive(id), store.CodeNotFound)
	v := d.take("c")
	d.wantEqual("receipt", v.Receipt, store.Receipt{ID: id, Attempt: 3, Keyed: true})
	d.wantEqual("failures", v.Failures, 0)
	d.wantSettled(store.Nack, v.Receipt, store.CodeOK)
	d.wantSettled(store.Nack, d.takeOf(id), store.CodeDead)
	d.wantCounters(store.Counters{Sent: 1, Delivered: 4, Nacked: 4, DeadLettered: 2, Redriven: 1})
}

func testRedriveOnlyDead(d *desk) {
	leased := d.send()
	d.takeOf(leased)
	dead := d.dead()
	scheduled := d.send(delay(hour))
	d.wantPushed(d.redrive(scheduled, leased, d.message().ID, dead, dead),
		store.CodeNotFound, store.CodeNotFound, store.CodeNotFound, store.CodeOK, store.CodeNotFound)
	d.wantState(scheduled, store.Scheduled)
	d.wantState(leased, store.Leased)
	d.wantState(dead, store.Ready)
}

// A redrive can give each message its own delay, in one step and without being due meanwhile.
func testRedriveDelay(d *desk) {
	ids := []store.ID{d.dead(key("k")), d.dead(), d.dead()}
	base := d.get(byID(d.send(delay(hour)))).At
	results := d.redriveAs(store.RedriveRequest{Caller: "m", Number: 1, Items: []store.Redrive{
		{ID: ids[0], Delay: 3 * hour}, {ID: ids[1], Delay: 2 * hour}, {ID: ids[2]},
	}})
	d.wantPushed(results, store.CodeOK, store.CodeOK, store.CodeOK)
	for i, hours := range []int64{3, 2} {
		at := d.wantState(ids[i], store.Scheduled).At
		if late := at - base - (hours-1)*hour; late < 0 || late > hour/2 {
			d.t.Fatalf("message %d is due %d ms after the one of 1 h, want %d h", i, at-base, hours-1)
		}
	}
	d.wantRefused("k", ids[0])
	d.takeOf(ids[2])
	d.takeNothing("c")
	d.wantCodes("reschedule", d.reschedule(store.Move{Ref: byID(ids[0])}), store.CodeOK)
	d.wantEqual("attempt", d.takeOf(ids[0]).Attempt, 2)
}

func purge() []testCase {
	return []testCase{
		{"EachStateApart", "", testPurgeStates},
		{"ByID", "", testPurgeByID},
	}
}

func testPurgeStates(d *desk) {
	leased := d.send()
	d.takeOf(leased)
	d.dead()
	d.dead(key("k"))
	d.sendMany(3, delay(hour))
	d.sendMany(4)
	d.wantEqual("scheduled", d.purge(store.Scheduled, 500), 3)
	d.wantEqual("dead", d.purge(store.Dead, 500), 2)
	d.wantEqual("ready", d.purge(store.Ready, 500), 4)
	d.wantState(leased, store.Leased)
	st := d.stats()
	d.wantEqual("left", []int64{st.Scheduled, st.Ready, st.Leased, st.Dead}, []int64{0, 0, 1, 0})
	d.wantEqual("purged", st.Counters.Purged, int64(9))
}

func testPurgeByID(d *desk) {
	dead := []store.ID{d.dead(), d.dead(), d.dead()}
	scheduled := d.send(delay(hour), key("k"))
	ready := d.send()
	unknown := d.message().ID
	d.wantEqual("purged", d.purge(store.Dead, 10, dead[1], scheduled, ready, unknown, dead[1]), 1)
	d.wantEqual("dead", recordIDs(d.list(store.Dead, 10)), []store.ID{dead[0], dead[2]})
	d.wantEqual("purged", d.purge(store.Ready, 10, scheduled, dead[0]), 0)
	d.wantEqual("purged", d.purge(store.Scheduled, 10, scheduled, ready), 1)
	d.wantEqual("repeated", d.purge(store.Scheduled, 10, scheduled, ready), 0)
	d.wantState(ready, store.Ready)
	d.send(key("k"))
	d.wantEqual("purged", d.purge(store.Dead, 1, dead...), 1)
}

// reading holds Get and List.
func reading() []testCase {
	return []testCase{
		{"EveryState", "", testReadStates},
		{"PagesWithEqualDueTimes", "", testPages},
		{"PagesWhileMessagesLeave", "", testPagesLeaving},
		{"LeasedInOrderOfDeadline", "", testListLeased},
		{"BodyLimit", "", testBodyLimit},
		{"UnknownQueue", "", testReadUnknown},
	}
}

func testReadStates(d *desk) {
	d.send(key("leased"))
	leased := d.take("c").Receipt.ID
	dead := d.dead(key("dead"))
	scheduled, ready := d.send(delay(hour), key("scheduled")), d.send(key("ready"))
	for id, state := range map[store.ID]store.State{
		scheduled: store.Scheduled, ready: store.Ready, leased: store.Leased, dead: store.Dead,
	} {
		rec := d.wantState(id, state)
		d.wantEqual(string(state), d.list(state, 10), []store.Record{rec})
		d.wantEqual("by key", d.get(byKey(string(state))), rec)
	}
}

// pageSizes divide the messages of the page tests in different ways.
var pageSizes = []int{1, 7, 10, 29, 30, 31, store.MaxListLimit}

func testPages(d *desk) {
	at := d.get(byID(d.send(delay(hour)))).At
	ids := []store.ID{}
	for i := range 3 {
		ids = append(ids, d.sendMany(10, due(at+hour+int64(i)))...)
	}
	for _, n := range pageSizes {
		d.wantEqual(fmt.Sprintf("pages of %d", n), recordIDs(d.list(store.Scheduled, n))[1:], ids)
	}
	d.claim("c", store.MaxBatch)
	dead := []store.ID{}
	for range 12 {
		dead = append(dead, d.dead())
	}
	for _, n := range pageSizes {
		got := d.list(store.Dead, n)
		if !slices.IsSortedFunc(got, func(a, b store.Record) int { return compareAt(a, b) }) {
			d.t.Fatalf("pages of %d dead messages are out of order", n)
		}
		d.wantEqual(fmt.Sprintf("dead in pages of %d", n), len(got), len(dead))
	}
}

func compareAt(a, b store.Record) int {
	if a.At != b.At {
		return int(a.At - b.At)
	}
	return strings.Compare(a.ID.String(), b.ID.String())
}

// What stays is seen exactly once, whatever leaves: also the message that the cursor names.
func testPagesLeaving(d *desk) {
	at := d.get(byID(d.send(delay(hour)))).At + hour
	ids := d.sendMany(40, due(at))
	seen := map[store.ID]int{}
	r := store.ListRequest{State: store.Scheduled, Limit: 7}
	for i := 0; ; i++ {
		page, err := d.s.List(d.t.Context(), d.p, r)
		d.noError("list", err)
		for _, rec := range page.Records {
			seen[rec.ID]++
		}
		if page.Next == "" {
			break
		}
		r.Cursor = page.Next
		last := page.Records[len(page.Records)-1].ID
		d.cancel(byID(last), byID(page.Records[0].ID))
	}
	for _, id := range ids {
		if seen[id] != 1 {
			d.t.Fatalf("%v was seen %d times, want once", id, seen[id])
		}
	}
}

func testListLeased(d *desk) {
	want := make([]store.ID, 12)
	for i := range want {
		id := d.send()
		d.takeFor("c", longLease-int64(i)*60_000)
		want[len(want)-1-i] = id
	}
	for _, n := range pageSizes {
		got := d.list(store.Leased, n)
		d.wantEqual(fmt.Sprintf("pages of %d", n), recordIDs(got), want)
	}
	d.wantEqual("attempt", d.list(store.Leased, 1)[0].Attempt, 1)
}

func testBodyLimit(d *desk) {
	m := d.message(delay(hour), key("k"))
	m.Body, m.Headers = []byte("0123456789"), map[string]string{"a": "b"}
	d.wantPushed(d.push(m), store.CodeOK)
	for limit, want := range map[int]string{0: "", 1: "0", 9: "012345678", 10: "0123456789", 11: "0123456789", 1 << 30: "0123456789"} {
		page, err := d.s.List(d.t.Context(), d.p, store.ListRequest{State: store.Scheduled, Limit: 10, BodyLimit: limit})
		d.noError("list", err)
		rec := page.Records[0]
		d.wantEqual(fmt.Sprintf("body of at most %d", limit), string(rec.Body), want)
		d.wantEqual("record", strip(rec), store.Record{
			ID: m.ID, Key: "k", Headers: m.Headers, BodySize: 10, State: store.Scheduled, MaxAttempts: m.MaxAttempts,
		})
	}
}

func testReadUnknown(d *desk) {
	ctx := d.t.Context()
	_, err := d.s.Get(ctx, d.p, byID(d.message().ID))
	d.wantError("get", err, store.ErrNotFound)
	_, err = d.s.Get(ctx, d.p, byKey("k"))
	d.wantError("get by key", err, store.ErrNotFound)
	for _, state := range []store.State{store.Scheduled, store.Ready, store.Leased, store.Dead} {
		page, err := d.s.List(ctx, d.p, store.ListRequest{State: state, Limit: 10})
		d.noError("list", err)
		d.wantEqual("page", page, store.Page{})
	}
	_, err = d.s.Stats(ctx, d.p.Queue)
	d.wantError("stats", err, store.ErrNotFound)
	all, err := d.s.Stats(ctx, "")
	d.noError("stats of all", err)
	d.wantEqual("stats of all", len(all), 0)
	_, err = d.s.Configure(ctx, d.p.Queue, store.Change{})
	d.wantError("settings", err, store.ErrNotFound)
	_, err = d.s.Configure(ctx, d.p.Queue, store.Change{Paused: pointer(true)})
	d.wantError("pause", err, store.ErrNotFound)
	res, err := d.s.Check(ctx, d.p, store.CheckRequest{Limit: 10})
	d.noError("check", err)
	d.wantEqual("problems", res.Problems, []store.Problem(nil))
}
