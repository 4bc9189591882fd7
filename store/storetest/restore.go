package storetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// restoring are the tests of Restore, of the list that it takes, and of what records have for it.
func restoring() []testCase {
	return []testCase{
		{"EveryState", "", testRestoreStates},
		{"AfterReopening", reopening, func(g *rig) {
			from, to := g.filled(), g.copyOf("copy")
			to.restoreAll(from)
			to.h.Store = g.h.Reopen(g.t)
			to.s, from.s, g.s = to.h.Store, to.h.Store, to.h.Store
			to.wantSameAs(from)
		}},
		{"Repeated", "", testRestoreRepeated},
		{"WhatFollows", "", testRestoreFollows},
		{"KeyOfAnother", "", testRestoreKeyTaken},
		{"NotPaused", "", testRestoreNotPaused},
		{"NoHistory", "", testRestoreNoHistory},
		{"WaitingIsOneList", "", testListWaiting},
		{"BadRecord", "", testRestoreBad},
	}
}

// exported are the states in which messages are listed to be restored.
var exported = []store.State{store.Waiting, store.Dead, store.Done}

// filled makes messages in all states that can be restored, with all that messages can have.
func (g *rig) filled() *rig {
	g.keepDone(hour, 100)
	dedup := func(m *store.Message) { m.DedupID, m.Remember = store.NewDedupID("once"), hour }
	for _, k := range []string{"", "acked"} {
		g.send(key(k))
		g.wantSettled(store.Ack, g.take("c").Receipt, store.CodeOK)
	}
	g.cancel(byID(g.send(delay(hour), key("cancelled"))))
	g.dead()
	g.dead(key("grave"))
	g.dead(key("grave"), attempts(3))
	g.recur()
	g.part(store.Reject, g.parting(g.take("c").Receipt, daily, hour), store.CodeOK)
	g.crash("crashed")
	g.send(key("snoozed"), attempts(7))
	for _, v := range []store.Verdict{store.Nack, store.Snooze} {
		item := store.Settlement{Receipt: g.take("c").Receipt, Failure: "once\nmore", Delay: 2 * hour}
		if v == store.Nack {
			item.Delay = 0
		}
		g.wantCodes(string(v), g.settleAs(store.SettleRequest{Verdict: v, Items: []store.Settlement{item}}), store.CodeOK)
	}
	g.send(delay(hour), ttl(2*hour), key("expiring"), func(m *store.Message) { m.Headers = map[string]string{"a": "1", "b": ""} })
	g.send(delay(hour), dedup)
	g.send(delay(hour), remember(hour), size(3000))
	g.send(func(m *store.Message) { m.Body = []byte("\xff\x00") })
	return g
}

// crash makes a message whose handler had started when its lease ran out, due in an hour.
func (g *rig) crash(k string) {
	g.send(key(k))
	v := g.takeFor("c", shortLease)
	g.settleAs(store.SettleRequest{Verdict: Start, Items: []store.Settlement{{Receipt: v.Receipt, Delay: shortLease}}})
	g.runOut()
	for _, again := range g.claim("c", 1).Deliveries { // if it is due again at once
		item := store.Settlement{Receipt: again.Receipt, Delay: hour}
		g.wantCodes("release", g.settleAs(store.SettleRequest{Verdict: store.Release, Items: []store.Settlement{item}}), store.CodeOK)
	}
	g.reschedule(store.Move{Ref: byKey(k), Delay: hour})
}

// copyOf returns a rig on a queue with the settings of g's, paused, and no messages.
func (g *rig) copyOf(queue string) *rig {
	to := g.at(queue, g.p.Index)
	paused, span, most := true, hour, int64(100)
	to.configure(store.Change{Create: true, Paused: &paused, History: &span, MaxHistory: &most})
	return to
}

func (g *rig) restore(all []store.Record) []store.Code {
	g.t.Helper()
	codes, err := g.s.Restore(g.t.Context(), g.p, store.RestoreRequest{Messages: all, Of: 1})
	g.noError("restore", err)
	return codes
}

func (g *rig) restoreAll(from *rig) {
	g.t.Helper()
	for _, state := range exported {
		all := from.list(state, 3)
		g.wantCodes(string(state), g.restore(all), slices.Repeat([]store.Code{store.CodeOK}, len(all))...)
	}
}

func (g *rig) wantSameAs(from *rig) {
	g.t.Helper()
	for _, state := range exported {
		all := from.list(state, 100)
		if len(all) == 0 {
			g.t.Fatalf("no messages are %s", state)
		}
		g.wantEqual(string(state), g.list(state, 2), all)
		for _, r := range all {
			got, want := g.get(byID(r.ID)), from.get(byID(r.ID))
			g.wantEqual("message", got, want)
			if r.Key != "" {
				g.wantEqual("of the key", g.get(byKey(r.Key)), from.get(byKey(r.Key)))
			}
		}
	}
	got, want := g.stats(), from.stats()
	g.wantEqual("sizes", []int64{got.Scheduled, got.Ready, got.Dead, got.Done}, []int64{want.Scheduled, want.Ready, want.Dead, want.Done})
}

func testRestoreStates(g *rig) {
	from, to := g.filled(), g.copyOf("copy")
	to.restoreAll(from)
	to.wantSameAs(from)
	c := to.stats().Counters
	g.wantEqual("counters", c, store.Counters{Sent: c.Sent, Acked: 2, Cancelled: 1})
	g.wantEqual("sent", c.Sent, c.Gone()+to.stats().Scheduled+to.stats().Ready+to.stats().Dead)
}

// A message that is there is not stored again, whatever has become of it.
func testRestoreRepeated(g *rig) {
	from, to := g.filled(), g.copyOf("copy")
	to.restoreAll(from)
	before := to.stats().Counters
	for _, state := range exported {
		all := from.list(state, 100)
		for i := range all {
			all[i].State, all[i].Ending, all[i].Repeat = store.Waiting, "", ""
		}
		to.wantCodes(string(state), to.restore(all), slices.Repeat([]store.Code{store.CodeKnown}, len(all))...)
	}
	to.wantSameAs(from)
	g.wantEqual("counters", to.stats().Counters, before)
}

// Restored messages are what they were for the calls that follow.
func testRestoreFollows(g *rig) {
	from, to := g.filled(), g.copyOf("copy")
	to.restoreAll(from)
	for _, m := range from.list(store.Waiting, 100) {
		if m.Key != "" {
			to.wantRefused(m.Key, m.ID)
		}
		if m.Remember > 0 {
			to.wantPushed(to.push(to.message(func(again *store.Message) { again.ID, again.New = m.ID, false; again.Body = m.Body })), store.CodeOK)
			to.wantCodes("cancel", to.cancel(byID(m.ID)), store.CodeOK)
			to.wantCodes("remembered", to.restore([]store.Record{m}), store.CodeKnown)
		}
		if !m.DedupID.IsZero() {
			again := to.message(func(again *store.Message) { again.DedupID = m.DedupID })
			to.wantPushed(to.push(again), store.CodeKnown)
			other := m
			other.ID = again.ID
			to.wantCodes("dedup id", to.restore([]store.Record{other}), store.CodeKnown)
		}
	}
	to.configure(store.Change{Paused: new(bool)})
	v := to.take("c")
	g.wantEqual("body, attempt", []any{string(v.Body), v.Receipt.Attempt}, []any{"\xff\x00", 1})
	to.reschedule(store.Move{Ref: byKey("snoozed")})
	v = to.take("c")
	g.wantEqual("attempt, failures, snoozes, most", []int{v.Receipt.Attempt, v.Failures, v.Snoozes, v.MaxAttempts}, []int{3, 1, 1, 7})
	to.wantSettled(store.Ack, store.Receipt{ID: v.Receipt.ID, Attempt: 2, Keyed: true}, store.CodeLeaseLost)
	to.reschedule(store.Move{Ref: byKey("crashed")})
	g.wantEqual("suspicion", to.take("c").Suspicion, store.Crashed)
	var letters int
	for _, m := range to.list(store.Dead, 100) {
		to.wantPushed(to.redrive(m.ID), store.CodeOK)
		if m.Letter {
			letters++
		}
		v := to.take("c")
		g.wantEqual("redriven", []any{v.Receipt.ID, v.Receipt.Attempt, v.Receipt.Keyed}, []any{m.ID, m.Attempt + 1, m.Key != ""})
		to.wantSettled(store.Ack, v.Receipt, store.CodeOK)
	}
	g.wantEqual("letters", letters, 1)
	g.wantEqual("dead", to.stats().Dead, int64(0))
}

func testRestoreKeyTaken(g *rig) {
	g.send(key("k"), delay(hour))
	waiting := g.list(store.Waiting, 10)
	to := g.copyOf("copy")
	holder := to.send(key("k"))
	to.wantCodes("restore", to.restore(waiting), store.CodeDuplicate)
	to.wantCodes("cancel", to.cancel(byID(holder)), store.CodeOK)
	to.wantCodes("restore", to.restore(waiting), store.CodeOK)
	g.wantEqual("of the key", to.get(byKey("k")).ID, waiting[0].ID)
}

func testRestoreNotPaused(g *rig) {
	g.send(delay(hour))
	r := store.RestoreRequest{Messages: g.list(store.Waiting, 10), Of: 1}
	r.Messages[0].ID = g.message().ID
	_, err := g.s.Restore(g.t.Context(), g.p, r)
	g.wantError("not paused", err, store.ErrNotPaused)
	_, err = g.s.Restore(g.t.Context(), store.Partition{Queue: "none"}, r)
	g.wantError("no queue", err, store.ErrNotFound)
	_, err = g.s.Configure(g.t.Context(), "none", store.Change{})
	g.wantError("the queue was not made", err, store.ErrNotFound)
	to := g.copyOf("copy")
	r.Of = 2
	_, err = to.s.Restore(g.t.Context(), to.p, r)
	g.wantError("other partitions", err, store.ErrRepartitioned)
	g.wantEqual("scheduled", []int64{g.stats().Scheduled, to.stats().Scheduled}, []int64{1, 0})
}

func testRestoreNoHistory(g *rig) {
	from, to := g.filled(), g.at("copy", 0)
	paused := true
	to.configure(store.Change{Create: true, Paused: &paused})
	for _, code := range to.restore(from.list(store.Done, 10)) {
		g.wantEqual("code", code, store.CodeGone)
	}
	g.wantEqual("stats", to.stats().Counters, store.Counters{})
}

// The list of the waiting has the ready messages before the scheduled ones.
func testListWaiting(g *rig) {
	later, now := g.sendMany(3, delay(hour)), g.sendMany(4)
	for _, n := range pageSizes {
		all := g.list(store.Waiting, n)
		g.wantEqual(fmt.Sprintf("pages of %d", n), recordIDs(all), slices.Concat(now, later))
		for _, r := range all {
			g.wantEqual("state", r.State, store.Waiting)
		}
	}
}

func testRestoreBad(g *rig) {
	g.send(key("k"), delay(hour))
	good := g.list(store.Waiting, 1)[0]
	to := g.copyOf("copy")
	for _, b := range []struct {
		field string
		edit  func(*store.Record)
		says  string
	}{
		{"id", func(r *store.Record) { r.ID = store.ID{} }, "missing"},
		{"state", func(r *store.Record) { r.State = store.Leased }, "leased"},
		{"ending", func(r *store.Record) { r.Ending = store.EndingAcked }, "acked"},
		{"ending", func(r *store.Record) { r.State, r.Ending = store.Done, "lost" }, "lost"},
		{"letter", func(r *store.Record) { r.Letter, r.Key = true, "" }, "key"},
		{"max attempts", func(r *store.Record) { r.MaxAttempts = 0 }, "0"},
		{"at", func(r *store.Record) { r.At = -1 }, "-1"},
		{"expiry", func(r *store.Record) { r.Expiry = store.MaxInstant + 1 }, "253402300799999"},
		{"attempt", func(r *store.Record) { r.Attempt = -7 }, "-7"},
		{"failures", func(r *store.Record) { r.Failures = 1 }, "1 is outside 0 to 0"},
		{"snoozes", func(r *store.Record) { r.Snoozes = 1 }, "1"},
		{"earlier", func(r *store.Record) { r.Earlier = 1 }, "1"},
		{"suspicion", func(r *store.Record) { r.Suspicion = 3 }, "3"},
		{"last failure", func(r *store.Record) { r.LastFailure = string(make([]byte, store.MaxFailure+1)) }, "1025"},
		{"recent failures", func(r *store.Record) { r.RecentFailures = make([]store.Failure, 6) }, "6"},
		{"recent failures", func(r *store.Record) { r.RecentFailures = []store.Failure{{Text: "a"}} }, "last failure"},
		{"recent failures: at", func(r *store.Record) { r.RecentFailures = []store.Failure{{At: -1}} }, "-1"},
		{"recent failures: attempt", func(r *store.Record) { r.RecentFailures = []store.Failure{{Attempt: 8}} }, "8 is outside 0 to 0"},
		{"recent failures: text", func(r *store.Record) {
			r.RecentFailures = []store.Failure{{}, {Text: string(make([]byte, store.MaxOlderFailure+1))}}
		}, "201"},
	} {
		bad := good
		b.edit(&bad)
		_, err := to.s.Restore(g.t.Context(), to.p, store.RestoreRequest{Messages: []store.Record{good, bad}})
		g.wantInvalid(b.field, err, store.ErrInvalid, b.field, b.says)
	}
	_, err := to.s.Restore(context.WithoutCancel(g.t.Context()), to.p, store.RestoreRequest{})
	g.wantInvalid("none", err, store.ErrInvalid, "messages")
	g.wantEqual("restored", to.stats().Counters, store.Counters{})
}
