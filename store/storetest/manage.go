package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/store"
)

func (g *rig) purge(state store.State, limit int, ids ...store.ID) int {
	g.t.Helper()
	res := g.purgeAs(store.PurgeRequest{
		Caller: "manager", Number: g.number("manager"), State: state, All: len(ids) == 0, IDs: ids, Limit: limit,
	})
	if res.Stale {
		g.t.Fatal("purge: stale")
	}
	return res.Removed
}

func (g *rig) purgeAs(r store.PurgeRequest) store.PurgeResult {
	g.t.Helper()
	res, err := g.s.Purge(g.t.Context(), g.p, r)
	g.noError("purge", err)
	return res
}

func (g *rig) wantError(what string, err, want error) {
	g.t.Helper()
	if !errors.Is(err, want) {
		g.t.Fatalf("%s: %v, want %v", what, err, want)
	}
}

// expiry are the tests of Message.TTL.
func expiry() []testCase {
	return []testCase{
		{"NotDelivered", "", func(g *rig) {
			id := g.send(ttl(shortTTL), key("k"))
			g.expire(id)
			g.takeNothing("c")
			g.wantGone(byID(id), byKey("k"))
			g.wantCounters(store.Counters{Sent: 1, Expired: 1})
		}},
		{"NotAgainAfterANack", "", func(g *rig) {
			r, span, _ := g.takeExpiring()
			g.outlive(span)
			g.wantSettled(store.Nack, r, store.CodeOK)
			g.takeNothing("c")
			g.wantGone(byID(r.ID))
		}},
		{"HolderCanAck", "", func(g *rig) {
			r, span, expired := g.takeExpiring()
			g.outlive(span)
			g.wantState(r.ID, store.Leased)
			g.wantSettled(store.Ack, r, store.CodeOK)
			g.wantCounters(store.Counters{Sent: expired + 1, Expired: expired, Delivered: 1, Acked: 1})
		}},
		{"DueBeyondTheTTLIsRefused", "", func(g *rig) {
			now := g.get(byID(g.send(delay(hour)))).At - hour
			m := g.message(ttl(hour), due(now+2*hour), key("k"))
			g.wantPushed(g.push(m, g.message(ttl(2*hour), due(now+hour))), store.CodeExpires, store.CodeOK)
			g.wantGone(byID(m.ID), byKey("k"))
		}},
		{"EndsWithARedrive", "", func(g *rig) {
			for _, k := range []string{"", "k"} {
				r, span, _ := g.takeExpiring(key(k))
				id := r.ID
				g.wantSettled(store.Reject, r, store.CodeOK)
				g.outlive(span)
				g.wantPushed(g.redrive(id), store.CodeOK)
				g.wantEqual("expiry", g.wantState(id, store.Ready).Expiry, int64(0))
				if k != "" { // the key is not free as that of an expired message
					g.wantPushed(g.push(g.message(key(k))), store.CodeDuplicate)
				}
				g.wantSettled(store.Ack, g.takeOf(id), store.CodeOK)
			}
		}},
		{"LongTTLDoesNotMatter", "", func(g *rig) {
			id := g.send(ttl(hour))
			v := g.take("c")
			if v.Expiry < v.Due+hour-1 || v.Expiry > v.Due+hour+1 {
				g.t.Fatalf("expiry %d, due %d, ttl %d", v.Expiry, v.Due, hour)
			}
			g.wantEqual("expiry", g.get(byID(id)).Expiry, v.Expiry)
		}},
	}
}

// deadLetters tests how a message dies and is redriven.
func deadLetters() []testCase {
	return []testCase{
		{"OnlyFailuresUseUpAttempts", "", testOnlyFailuresCount},
		{"RejectKillsAtOnce", "", testReject},
		{"FailureTexts", "", testFailureTexts},
		{"RecentFailures", "", testRecentFailures},
		{"RecentFailures/Times", manualClock, testRecentFailureTimes},
		{"RecentFailures/OfTheOccurrenceUnderWay", "", testRecentFailuresOfOccurrence},
		{"Redrive", "", testRedrive},
		{"RedriveOfOtherStates", "", testRedriveOnlyDead},
		{"RedriveAfterADelay", "", testRedriveDelay},
		{"ClockThatWasSetBack", manualClock, func(g *rig) {
			g.wantInOrderOfTime(store.Dead, func() store.ID { return g.dead(key("k")) })
		}},
	}
}

func testOnlyFailuresCount(g *rig) {
	id := g.send(attempts(3))
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
		g.wantSettled(step.verdict, g.takeOf(id), step.want)
	}
	rec := g.wantState(id, store.Dead)
	g.wantEqual("attempts", rec.Attempt, 6)
	g.wantEqual("failures", rec.Failures, 3)
	g.takeNothing("c")
}

func testReject(g *rig) {
	id := g.dead(attempts(20), key("k"))
	rec := g.wantState(id, store.Dead)
	g.wantEqual("record", strip(rec), store.Record{
		ID: id, Key: "k", BodySize: 4, State: store.Dead, MaxAttempts: 20, Attempt: 1, Failures: 1, LastFailure: "rejected",
		RecentFailures: []store.Failure{{Attempt: 1, Text: "rejected"}},
	})
	g.wantEqual("dead", recordIDs(g.list(store.Dead, 10)), []store.ID{id})
	g.takeNothing("c")
	g.wantCounters(store.Counters{Sent: 1, Delivered: 1, Rejected: 1, DeadLettered: 1})
}

func testFailureTexts(g *rig) {
	id := g.send()
	long := strings.Repeat("ü", store.MaxFailure/2)
	last := ""
	for _, text := range []string{"first", "with\nlines and \x00", "", long, "", "quo\"te"} {
		item := store.Settlement{Receipt: g.takeOf(id), Failure: text}
		g.settleAs(store.SettleRequest{Verdict: store.Nack, Items: []store.Settlement{item}})
		if text != "" {
			last = text
		}
		g.wantEqual("text", g.get(byID(id)).LastFailure, last)
	}
}

func testRecentFailures(g *rig) {
	id := g.send(attempts(7))
	long, cut := "a"+strings.Repeat("ü", store.MaxOlderFailure), "a"+strings.Repeat("ü", store.MaxOlderFailure/2-1)
	var want []store.Failure
	for i, end := range []struct {
		verdict store.Verdict
		text    string
	}{
		{store.Nack, "gone by the end"},
		{store.Nack, "likewise"},
		{store.Nack, long},
		{store.Nack, "7 8 9 and\nmore \x00"},
		{store.Nack, ""},
		{store.Snooze, "busy"},
		{store.Nack, "busy"},
		{store.Reject, long},
	} {
		item := store.Settlement{Receipt: g.takeOf(id), Failure: end.text}
		g.wantCodes(string(end.verdict), g.settleAs(store.SettleRequest{Verdict: end.verdict, Items: []store.Settlement{item}}), store.CodeOK)
		if len(want) > 0 && want[0].Text == long {
			want[0].Text = cut
		}
		if end.text != "" {
			want = slices.Insert(want, 0, store.Failure{Attempt: i + 1, Text: end.text})
		}
		want = want[:min(len(want), store.MaxRecentFailures)]
		got := g.get(byID(id))
		g.wantEqual("recent failures", strip(got).RecentFailures, want)
		g.wantEqual("in a list", g.list(got.State, 10), []store.Record{got})
	}
	rec := g.wantState(id, store.Dead)
	g.wantEqual("time of the last", rec.RecentFailures[0].At, rec.At)
	inOrder := slices.IsSortedFunc(rec.RecentFailures, func(a, b store.Failure) int { return cmp.Compare(b.At, a.At) })
	g.wantEqual("newest first", inOrder, true)
	g.wantPushed(g.redrive(id), store.CodeOK)
	g.wantEqual("after a redrive", g.get(byID(id)).RecentFailures, rec.RecentFailures)
}

func testRecentFailureTimes(g *rig) {
	g.keepDone(hour, 0)
	id := g.send()
	for range 3 {
		g.fail(id, "no luck")
		g.pass(time.Second)
	}
	g.wantSettled(store.Ack, g.takeOf(id), store.CodeOK)
	rec := g.wantState(id, store.Done)
	var before []int64
	for _, f := range rec.RecentFailures {
		before = append(before, rec.At-f.At)
	}
	g.wantEqual("ms before the end", before, []int64{1000, 2000, 3000})
}

func testRecentFailuresOfOccurrence(g *rig) {
	id := g.recur(attempts(5))
	g.fail(id, "no luck")
	g.wantEqual("first", len(g.get(byID(id)).RecentFailures), 1)
	next := store.Settlement{Receipt: g.takeOf(id)}
	g.wantCodes("again", g.settleAs(store.SettleRequest{Verdict: store.Again, Items: []store.Settlement{next}}), store.CodeOK)
	g.wantEqual("next", g.get(byID(id)).RecentFailures, []store.Failure(nil))
	g.fail(id, "no luck")
	rec := g.get(byID(id))
	g.wantEqual("attempts", []int{rec.RecentFailures[0].Attempt, len(rec.RecentFailures)}, []int{3, 1})
}

// fail nacks a message that is due, with a text.
func (g *rig) fail(id store.ID, text string) {
	g.t.Helper()
	item := store.Settlement{Receipt: g.takeOf(id), Failure: text}
	g.wantCodes("nack", g.settleAs(store.SettleRequest{Verdict: store.Nack, Items: []store.Settlement{item}}), store.CodeOK)
}

func testRedrive(g *rig) {
	id := g.send(attempts(2), key("k"))
	g.wantSettled(store.Nack, g.takeOf(id), store.CodeOK)
	g.wantSettled(store.Nack, g.takeOf(id), store.CodeDead)
	g.wantPushed(g.redrive(id), store.CodeOK)
	rec := g.wantState(id, store.Ready)
	g.wantEqual("failures", rec.Failures, 0)
	g.wantEqual("attempts", rec.Attempt, 2)
	g.wantPushed(g.redrive(id), store.CodeNotFound)
	v := g.take("c")
	g.wantEqual("receipt", v.Receipt, store.Receipt{ID: id, Attempt: 3, Keyed: true})
	g.wantEqual("failures", v.Failures, 0)
	g.wantSettled(store.Nack, v.Receipt, store.CodeOK)
	g.wantSettled(store.Nack, g.takeOf(id), store.CodeDead)
	g.wantCounters(store.Counters{Sent: 1, Delivered: 4, Nacked: 4, DeadLettered: 2, Redriven: 1})
}

func testRedriveOnlyDead(g *rig) {
	leased := g.send()
	g.takeOf(leased)
	dead := g.dead()
	scheduled := g.send(delay(hour))
	g.wantPushed(g.redrive(scheduled, leased, g.message().ID, dead, dead),
		store.CodeNotFound, store.CodeNotFound, store.CodeNotFound, store.CodeOK, store.CodeNotFound)
	g.wantState(scheduled, store.Scheduled)
	g.wantState(leased, store.Leased)
	g.wantState(dead, store.Ready)
}

// A redrive can give each message a delay of its own, and none is due before its delay is over.
func testRedriveDelay(g *rig) {
	ids := []store.ID{g.dead(key("k")), g.dead(), g.dead()}
	base := g.get(byID(g.send(delay(hour)))).At
	results := g.redriveAs(store.RedriveRequest{Caller: "m", Number: 1, Items: []store.Redrive{
		{ID: ids[0], Delay: 3 * hour}, {ID: ids[1], Delay: 2 * hour}, {ID: ids[2]},
	}})
	g.wantPushed(results, store.CodeOK, store.CodeOK, store.CodeOK)
	for i, hours := range []int64{3, 2} {
		at := g.wantState(ids[i], store.Scheduled).At
		if late := at - base - (hours-1)*hour; late < 0 || late > hour/2 {
			g.t.Fatalf("message %d is due %d ms after the one of 1 h, want %d h", i, at-base, hours-1)
		}
	}
	g.wantRefused("k", ids[0])
	g.takeOf(ids[2])
	g.takeNothing("c")
	g.wantCodes("reschedule", g.reschedule(store.Move{Ref: byID(ids[0])}), store.CodeOK)
	g.wantEqual("attempt", g.takeOf(ids[0]).Attempt, 2)
}

func purge() []testCase {
	return []testCase{
		{"EachState", "", testPurgeStates},
		{"ByID", "", testPurgeByID},
	}
}

func testPurgeStates(g *rig) {
	leased := g.send()
	g.takeOf(leased)
	g.dead()
	g.dead(key("k"))
	g.sendMany(3, delay(hour))
	g.sendMany(4)
	g.wantEqual("scheduled", g.purge(store.Scheduled, 500), 3)
	g.wantEqual("dead", g.purge(store.Dead, 500), 2)
	g.wantEqual("ready", g.purge(store.Ready, 500), 4)
	g.wantState(leased, store.Leased)
	st := g.stats()
	g.wantEqual("left", []int64{st.Scheduled, st.Ready, st.Leased, st.Dead}, []int64{0, 0, 1, 0})
	g.wantEqual("purged", st.Counters.Purged, int64(9))
}

func testPurgeByID(g *rig) {
	dead := []store.ID{g.dead(), g.dead(), g.dead()}
	scheduled := g.send(delay(hour), key("k"))
	ready := g.send()
	unknown := g.message().ID
	g.wantEqual("purged", g.purge(store.Dead, 10, dead[1], scheduled, ready, unknown, dead[1]), 1)
	g.wantEqual("dead", recordIDs(g.list(store.Dead, 10)), []store.ID{dead[0], dead[2]})
	g.wantEqual("purged", g.purge(store.Ready, 10, scheduled, dead[0]), 0)
	g.wantEqual("purged", g.purge(store.Scheduled, 10, scheduled, ready), 1)
	g.wantEqual("repeated", g.purge(store.Scheduled, 10, scheduled, ready), 0)
	g.wantState(ready, store.Ready)
	g.send(key("k"))
	g.wantEqual("purged", g.purge(store.Dead, 1, dead...), 1)
}

// reading are the tests of Get and List.
func reading() []testCase {
	return []testCase{
		{"EveryState", "", testReadStates},
		{"PagesWithEqualDueTimes", "", testPages},
		{"PagesWhileMessagesLeave", "", testPagesLeaving},
		{"LeasedInOrderOfDeadline", "", testListLeased},
		{"FromATime", "", testListFrom},
		{"DescendingIsTheReverse", "", testDescending},
		{"DescendingWhileMessagesComeAndGo", "", testDescendingChanges},
		{"DescendingFromATime", "", testDescendingFrom},
		{"LeasedFromATime", "", testLeasedFrom},
		{"CursorsOfEachRecord", "", testCursors},
		{"CursorOfTheOtherOrder", "", testCursorOtherOrder},
		{"BodyLimit", "", testBodyLimit},
		{"UnknownQueue", "", testReadUnknown},
	}
}

func testReadStates(g *rig) {
	g.send(key("leased"))
	leased := g.take("c").Receipt.ID
	dead := g.dead(key("dead"))
	scheduled, ready := g.send(delay(hour), key("scheduled")), g.send(key("ready"))
	for id, state := range map[store.ID]store.State{
		scheduled: store.Scheduled, ready: store.Ready, leased: store.Leased, dead: store.Dead,
	} {
		rec := g.wantState(id, state)
		g.wantEqual(string(state), g.list(state, 10), []store.Record{rec})
		g.wantEqual("by key", g.get(byKey(string(state))), rec)
	}
}

// pageSizes are the sizes of pages in which the tests list all messages.
var pageSizes = []int{1, 7, 10, 29, 30, 31, store.MaxListLimit}

func testPages(g *rig) {
	at := g.get(byID(g.send(delay(hour)))).At
	ids := []store.ID{}
	for i := range 3 {
		ids = append(ids, g.sendMany(10, due(at+hour+int64(i)))...)
	}
	for _, n := range pageSizes {
		g.wantEqual(fmt.Sprintf("pages of %d", n), recordIDs(g.list(store.Scheduled, n))[1:], ids)
	}
	g.claim("c", store.MaxBatch)
	dead := []store.ID{}
	for range 12 {
		dead = append(dead, g.dead())
	}
	for _, n := range pageSizes {
		got := g.list(store.Dead, n)
		if !slices.IsSortedFunc(got, func(a, b store.Record) int { return compareAt(a, b) }) {
			g.t.Fatalf("pages of %d dead messages are out of order", n)
		}
		g.wantEqual(fmt.Sprintf("dead in pages of %d", n), len(got), len(dead))
	}
}

func compareAt(a, b store.Record) int {
	if a.At != b.At {
		return int(a.At - b.At)
	}
	return strings.Compare(a.ID.String(), b.ID.String())
}

// A message that stays is listed exactly once while others leave, also when the message at the
// cursor leaves.
func testPagesLeaving(g *rig) {
	at := g.get(byID(g.send(delay(hour)))).At + hour
	ids := g.sendMany(40, due(at))
	seen := map[store.ID]int{}
	r := store.ListRequest{State: store.Scheduled, Limit: 7}
	for i := 0; ; i++ {
		page, err := g.s.List(g.t.Context(), g.p, r)
		g.noError("list", err)
		for _, rec := range page.Records {
			seen[rec.ID]++
		}
		if page.Next == "" {
			break
		}
		r.Cursor = page.Next
		last := page.Records[len(page.Records)-1].ID
		g.cancel(byID(last), byID(page.Records[0].ID))
	}
	for _, id := range ids {
		if seen[id] != 1 {
			g.t.Fatalf("%v was seen %d times, want once", id, seen[id])
		}
	}
}

func testListLeased(g *rig) {
	want := make([]store.ID, 12)
	for i := range want {
		id := g.send()
		g.takeFor("c", longLease-int64(i)*60_000)
		want[len(want)-1-i] = id
	}
	for _, n := range pageSizes {
		got := g.list(store.Leased, n)
		g.wantEqual(fmt.Sprintf("pages of %d", n), recordIDs(got), want)
	}
	g.wantEqual("attempt", g.list(store.Leased, 1)[0].Attempt, 1)
}

// A list begins with the first message of an instant, also where several have the same one.
func testListFrom(g *rig) {
	at := g.get(byID(g.send(delay(hour)))).At + hour
	ids := []store.ID{}
	for i := range 3 {
		ids = append(ids, g.sendMany(10, due(at+2*int64(i)))...)
	}
	from := func(state store.State, from int64, size int) []store.ID {
		var all []store.Record
		for r := (store.ListRequest{State: state, From: from, Limit: size}); ; {
			page, err := g.s.List(g.t.Context(), g.p, r)
			g.noError("list", err)
			all = append(all, page.Records...)
			if r.Cursor = page.Next; r.Cursor == "" {
				return recordIDs(all)
			}
		}
	}
	for _, n := range []int{1, 10, store.MaxListLimit} {
		for _, state := range []store.State{store.Scheduled, store.Waiting} {
			g.wantEqual("from the first", from(state, at, n), ids)
			g.wantEqual("from between", from(state, at+1, n), ids[10:])
			g.wantEqual("from the last", from(state, at+4, n), ids[20:])
			g.wantEqual("from behind the last", len(from(state, at+5, n)), 0)
		}
	}
	g.wantEqual("scheduled from the past", len(from(store.Scheduled, 1, 7)), 31)
	g.wantEqual("ready from the future", len(from(store.Ready, at, 7)), 0)
	dead := g.get(byID(g.dead()))
	g.wantEqual("dead", from(store.Dead, dead.At, 1), []store.ID{dead.ID})
	g.wantEqual("dead later", len(from(store.Dead, dead.At+1, 1)), 0)
}

func testBodyLimit(g *rig) {
	m := g.message(delay(hour), key("k"))
	m.Body, m.Headers = []byte("0123456789"), map[string]string{"a": "b"}
	g.wantPushed(g.push(m), store.CodeOK)
	for limit, want := range map[int]string{0: "", 1: "0", 9: "012345678", 10: "0123456789", 11: "0123456789", 1 << 30: "0123456789"} {
		page, err := g.s.List(g.t.Context(), g.p, store.ListRequest{State: store.Scheduled, Limit: 10, BodyLimit: limit})
		g.noError("list", err)
		rec := page.Records[0]
		g.wantEqual(fmt.Sprintf("body of at most %d", limit), string(rec.Body), want)
		g.wantEqual("record", strip(rec), store.Record{
			ID: m.ID, Key: "k", Headers: m.Headers, BodySize: 10, State: store.Scheduled, MaxAttempts: m.MaxAttempts,
		})
	}
}

func testReadUnknown(g *rig) {
	ctx := g.t.Context()
	_, err := g.s.Get(ctx, g.p, byID(g.message().ID))
	g.wantError("get", err, store.ErrNotFound)
	_, err = g.s.Get(ctx, g.p, byKey("k"))
	g.wantError("get by key", err, store.ErrNotFound)
	for _, state := range []store.State{store.Scheduled, store.Ready, store.Leased, store.Dead} {
		page, err := g.s.List(ctx, g.p, store.ListRequest{State: state, Limit: 10})
		g.noError("list", err)
		g.wantEqual("page", page, store.Page{})
	}
	_, err = g.s.Stats(ctx, g.p.Queue)
	g.wantError("stats", err, store.ErrNotFound)
	all, err := g.s.Stats(ctx, "")
	g.noError("stats of all", err)
	g.wantEqual("stats of all", len(all), 0)
	_, err = g.s.Configure(ctx, g.p.Queue, store.Change{})
	g.wantError("settings", err, store.ErrNotFound)
	_, err = g.s.Configure(ctx, g.p.Queue, store.Change{Paused: pointer(true)})
	g.wantError("pause", err, store.ErrNotFound)
	res, err := g.s.Check(ctx, g.p, store.CheckRequest{Limit: 10})
	g.noError("check", err)
	g.wantEqual("problems", res.Problems, []store.Problem(nil))
}
