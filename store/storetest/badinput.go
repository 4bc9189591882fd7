package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dueq-dev/dueq/store"
)

// wantInvalid fails unless err is of the kind, names the field, and contains all of the texts: the
// value and the limit.
func (g *rig) wantInvalid(what string, err, kind error, field string, says ...string) {
	g.t.Helper()
	g.wantError(what, err, kind)
	var e *store.Error
	if !errors.As(err, &e) || e.Field != field {
		g.t.Fatalf("%s: %v: want the field %q", what, err, field)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			g.t.Fatalf("%s: %q does not say %q", what, err, text)
		}
	}
}

// bad is a call that must be refused and must write nothing.
type bad struct {
	name  string
	do    func(ctx context.Context, g *rig) error
	kind  error
	field string
	says  []string
}

func badInput() []testCase {
	groups := []struct {
		name string
		bads []bad
	}{
		{"Push", badPushes()}, {"Claim", badClaims()}, {"Settle", badSettles()}, {"Manage", badManages()}, {"Names", badNames()},
	}
	var cases []testCase
	for _, group := range groups {
		cases = append(cases,
			testCase{group.name + "OnNothing", "", func(g *rig) { g.refuseAll(group.bads); g.wantNoQueues() }},
			testCase{group.name + "ChangesNothing", "", func(g *rig) { testBadChangesNothing(g, group.bads) }})
	}
	return cases
}

func (g *rig) refuseAll(bads []bad) {
	g.t.Helper()
	for _, b := range bads {
		g.wantInvalid(b.name, b.do(g.t.Context(), g), b.kind, b.field, b.says...)
	}
}

func testBadChangesNothing(g *rig, bads []bad) {
	g.dead()
	g.send()
	g.take("c")
	g.send()
	g.send(delay(hour), key("k"))
	before := g.snapshot()
	g.refuseAll(bads)
	g.wantEqual("everything", g.snapshot(), before)
	g.t.Helper()
}

// snapshot returns all that the methods of the port show of the partition.
func (g *rig) snapshot() map[string]any {
	g.t.Helper()
	st := g.stats()
	st.OldestReady = 0
	all := map[string]any{"stats": st}
	for _, state := range []store.State{store.Scheduled, store.Ready, store.Leased, store.Dead} {
		all[string(state)] = g.list(state, 100)
	}
	return all
}

func badPush(name, field string, kind error, edit func(*store.Message), says ...string) bad {
	return bad{name, func(ctx context.Context, g *rig) error {
		_, err := g.s.Push(ctx, g.p, store.PushRequest{Producer: "bad", Number: 9, Messages: []store.Message{g.message(), g.message(edit)}})
		return err
	}, kind, field, says}
}

func headers(n int, name, value string) func(*store.Message) {
	return func(m *store.Message) {
		m.Headers = map[string]string{}
		for i := range n {
			m.Headers[name+strings.Repeat("x", i)] = value
		}
	}
}

func badPushes() []bad {
	invalid, large := store.ErrInvalid, store.ErrTooLarge
	return []bad{
		badPush("no id", "id", invalid, func(m *store.Message) { m.ID = store.ID{} }),
		badPush("long key", "key", invalid, key(strings.Repeat("k", 256)), "256", "255"),
		badPush("key with a control character", "key", invalid, key("a\nb"), `"a\nb"`),
		badPush("key that is not UTF-8", "key", invalid, key("\xff"), `"\xff"`),
		badPush("65 headers", "headers", invalid, headers(65, "h", ""), "65", "64"),
		badPush("headers of 8193 bytes", "headers", invalid, headers(1, "h", strings.Repeat("v", 8192)), "8193", "8192"),
		badPush("header without a name", "headers", invalid, headers(1, "", "v"), `""`),
		badPush("header name with a space", "headers", invalid, headers(1, "a b", "v"), `"a b"`),
		badPush("header value with a line break", "headers", invalid, headers(1, "a", "b\r\nc: d"), `"a"`),
		badPush("schedule without a key", "repeat", invalid, repeat(daily), "key"),
		badPush("schedule with a TTL", "ttl", invalid, func(m *store.Message) { m.Key, m.Repeat, m.TTL = "bad", daily, hour }, "1h"),
		badPush("long schedule", "repeat", invalid, func(m *store.Message) { m.Key, m.Repeat = "bad", strings.Repeat("x", 256) }, "256", "255"),
		badPush("schedule like a number", "repeat", invalid, func(m *store.Message) { m.Key, m.Repeat = "bad", "17" }, "17"),
		badPush("schedule of two lines", "repeat", invalid, func(m *store.Message) { m.Key, m.Repeat = "bad", "every\n1h" }, `every\n1h`),
		badPush("large body", "body", large, size(store.MaxBody+1), "4194305", "4194304"),
		badPush("negative delay", "delay", invalid, delay(-1), "-1 ms"),
		badPush("delay of more than 10 years", "delay", invalid, delay(store.MaxDelay+1), "3660d1ms", "3660d"),
		badPush("overflowing delay", "delay", invalid, delay(1<<63-1), "9223372036854775807"),
		badPush("due and delay", "due", invalid, func(m *store.Message) { m.Due, m.Delay = 1, 1 }),
		badPush("no attempts", "max attempts", invalid, attempts(0), "0", "1000"),
		badPush("negative attempts", "max attempts", invalid, attempts(-1), "-1"),
		badPush("too many attempts", "max attempts", invalid, attempts(1001), "1001", "1000"),
		badPush("negative ttl", "ttl", invalid, ttl(-1), "-1"),
		badPush("long ttl", "ttl", invalid, ttl(2*store.MaxDelay+1), "7320d1ms", "7320d"),
		badPush("ttl not after the delay", "ttl", invalid, func(m *store.Message) { m.TTL, m.Delay = 5, 5 }, "5 ms"),
		badPush("replace without a key", "replace", invalid, replacing),
		badBatch("no messages", "messages", invalid, 0, 0, "0", "500"),
		badBatch("501 messages", "messages", invalid, 501, 0, "501", "500"),
		badBatch("batch of more than 1 MiB", "messages", large, 5, 250<<10, "1280000", "1048576"),
	}
}

func badBatch(name, field string, kind error, n, body int, says ...string) bad {
	return bad{name, func(ctx context.Context, g *rig) error {
		r := store.PushRequest{Producer: "bad", Number: 9}
		for range n {
			r.Messages = append(r.Messages, g.message(size(body)))
		}
		_, err := g.s.Push(ctx, g.p, r)
		return err
	}, kind, field, says}
}

func badClaim(name, field string, edit func(*store.ClaimRequest), says ...string) bad {
	return bad{name, func(ctx context.Context, g *rig) error {
		r := store.ClaimRequest{Consumer: "bad", Number: 9, Max: 1, Lease: longLease}
		edit(&r)
		_, err := g.s.Claim(ctx, g.p, r)
		return err
	}, store.ErrInvalid, field, says}
}

func badClaims() []bad {
	return []bad{
		badClaim("max 0", "max", func(r *store.ClaimRequest) { r.Max = 0 }, "0", "500"),
		badClaim("max -1", "max", func(r *store.ClaimRequest) { r.Max = -1 }, "-1", "500"),
		badClaim("max 501", "max", func(r *store.ClaimRequest) { r.Max = 501 }, "501", "500"),
		badClaim("max 2^31", "max", func(r *store.ClaimRequest) { r.Max = 1 << 31 }, "2147483648"),
		badClaim("short lease", "lease", func(r *store.ClaimRequest) { r.Lease = 999 }, "999", "1s"),
		badClaim("long lease", "lease", func(r *store.ClaimRequest) { r.Lease = 43_200_001 }, "12h1ms", "12h"),
		badClaim("negative lease", "lease", func(r *store.ClaimRequest) { r.Lease = -1 }, "-1"),
	}
}

func badSettle(name, field string, v store.Verdict, item store.Settlement, says ...string) bad {
	return bad{name, func(ctx context.Context, g *rig) error {
		item := item // several rigs use it at the same time
		if item.Receipt.Attempt == 1 {
			item.Receipt.ID = g.message().ID
		}
		_, err := g.s.Settle(ctx, g.p, store.SettleRequest{Verdict: v, Items: []store.Settlement{item}})
		return err
	}, store.ErrInvalid, field, says}
}

func badExtend(name, field string, r store.ExtendRequest, says ...string) bad {
	return bad{name, func(ctx context.Context, g *rig) error { _, err := g.s.Extend(ctx, g.p, r); return err }, store.ErrInvalid, field, says}
}

func badSettles() []bad {
	r := store.Receipt{Attempt: 1}
	letter, elsewhere := store.ID{1}, store.ID{1, 15: 1}
	return []bad{
		badSettle("no receipt", "receipt", store.Ack, store.Settlement{}),
		badSettle("attempt 0", "receipt", store.Ack, store.Settlement{Receipt: store.Receipt{ID: store.ID{1}}}),
		badSettle("negative attempt", "receipt", store.Nack, store.Settlement{Receipt: store.Receipt{ID: store.ID{1}, Attempt: -1}}, "-1"),
		badSettle("unknown verdict", "verdict", "forget", store.Settlement{Receipt: r}, "forget"),
		badSettle("negative delay", "delay", store.Nack, store.Settlement{Receipt: r, Delay: -7}, "-7"),
		badSettle("long delay", "delay", store.Release, store.Settlement{Receipt: r, Delay: store.MaxDelay + 1}, "3660d1ms"),
		badSettle("extend as a verdict", "verdict", "extend", store.Settlement{Receipt: r, Delay: 1000}, "extend"),
		badExtend("short extension", "lease", store.ExtendRequest{Receipts: []store.Receipt{{ID: store.ID{1}, Attempt: 1}}, Lease: 999}, "999", "1s"),
		badExtend("long extension", "lease", store.ExtendRequest{Receipts: []store.Receipt{{ID: store.ID{1}, Attempt: 1}}, Lease: 43_200_001}, "12h1ms"),
		badExtend("extension without a receipt", "receipt", store.ExtendRequest{Receipts: []store.Receipt{{ID: store.ID{1}, Attempt: 1}, {}}, Lease: 1000}),
		badExtend("extension of nothing", "receipts", store.ExtendRequest{Lease: 1000}, "0", "500"),
		badExtend("501 extensions", "receipts", store.ExtendRequest{Receipts: make([]store.Receipt, 501), Lease: 1000}, "501", "500"),
		badSettle("no letter", "letter", store.Nack, store.Settlement{Receipt: r, Next: &store.Occurrence{Repeat: daily}}),
		badSettle("letter elsewhere", "letter", store.Reject, store.Settlement{Receipt: r, Letter: elsewhere, Next: &store.Occurrence{Repeat: daily}}),
		badSettle("next without a schedule", "repeat", store.Reject, store.Settlement{Receipt: r, Letter: letter, Next: &store.Occurrence{}}),
		badSettle("next with a TTL", "next", store.Nack, store.Settlement{Receipt: r, Letter: letter, Next: &store.Occurrence{Repeat: daily, TTL: 1}}),
		badSettle("long failure text", "failure", store.Reject, store.Settlement{Receipt: r, Failure: strings.Repeat("x", 1025)}, "1025", "1024"),
		badCount("no items", "items", 0, settleN),
		badCount("501 items", "items", 501, settleN),
	}
}

func settleN(ctx context.Context, g *rig, n int) error {
	items := make([]store.Settlement, n)
	for i := range items {
		items[i].Receipt = store.Receipt{ID: g.message().ID, Attempt: 1}
	}
	_, err := g.s.Settle(ctx, g.p, store.SettleRequest{Verdict: store.Ack, Items: items})
	return err
}

// badCount is a call with n items, of which 1 to MaxBatch are allowed.
func badCount(name, field string, n int, do func(ctx context.Context, g *rig, n int) error) bad {
	run := func(ctx context.Context, g *rig) error { return do(ctx, g, n) }
	return bad{name, run, store.ErrInvalid, field, []string{fmt.Sprint(n), "500"}}
}

func badManages() []bad {
	return []bad{
		badCount("cancel of nothing", "refs", 0, cancelN),
		badCount("cancel of 501", "refs", 501, cancelN),
		badCount("reschedule of nothing", "moves", 0, rescheduleN),
		badCount("reschedule of 501", "moves", 501, rescheduleN),
		badCount("redrive of nothing", "items", 0, redriveN),
		badCount("redrive of 501", "items", 501, redriveN),
		badRef("empty ref", store.Ref{}, "key"),
		badRef("id and key", store.Ref{ID: store.ID{1}, Key: "k"}, "ref"),
		badRef("bad key", byKey("a\x00"), "key"),
		badMove("negative delay", store.Move{Ref: byKey("k"), Delay: -1}, "delay", "-1"),
		badMove("due before 1970 and a delay", store.Move{Ref: byKey("k"), Due: -1, Delay: 1}, "due"),
		badMove("due and delay", store.Move{Ref: byKey("k"), Due: 1, Delay: 1}, "due"),
		badMove("long delay", store.Move{Ref: byKey("k"), Delay: store.MaxDelay + 1}, "delay", "3660d1ms"),
		badList("unknown state", store.ListRequest{State: "gone", Limit: 1}, "state", "gone"),
		badList("limit 0", store.ListRequest{State: store.Ready}, "limit", "0", "1000"),
		badList("limit 1001", store.ListRequest{State: store.Ready, Limit: 1001}, "limit", "1001", "1000"),
		badList("negative body limit", store.ListRequest{State: store.Ready, Limit: 1, BodyLimit: -1}, "body limit", "-1"),
		badList("from before 1970", store.ListRequest{State: store.Ready, Limit: 1, From: -1}, "from", "-1"),
		badList("from after 9999", store.ListRequest{State: store.Ready, Limit: 1, From: store.MaxInstant + 1}, "from", "253402300799999"),
		badList("malformed cursor", store.ListRequest{State: store.Ready, Limit: 1, Cursor: "no cursor!"}, "cursor"),
		badList("short cursor", store.ListRequest{State: store.Leased, Limit: 1, Cursor: "0"}, "cursor"),
		badForecast("of no span", store.ForecastRequest{Step: 1}, "spans", "0", "100"),
		badForecast("of 101 spans", store.ForecastRequest{Step: 1, Spans: 101}, "spans", "101", "100"),
		badForecast("without a step", store.ForecastRequest{Spans: 2}, "step", "0", "1830d"),
		badForecast("beyond 10 years", store.ForecastRequest{Step: store.MaxDelay/2 + 1, Spans: 2}, "step", "1830d1ms", "1830d"),
		badPurge("purge of leased", store.PurgeRequest{State: store.Leased, All: true, Limit: 1}, "state", "leased"),
		badPurge("purge without a limit", store.PurgeRequest{State: store.Dead, All: true}, "limit", "0", "500"),
		badPurge("purge of 501", store.PurgeRequest{State: store.Dead, All: true, Limit: 501}, "limit", "501", "500"),
		badPurge("purge of no ids", store.PurgeRequest{State: store.Dead, Limit: 1}, "ids", "0", "500"),
		badPurge("purge of all and of ids", store.PurgeRequest{State: store.Dead, All: true, Limit: 1, IDs: make([]store.ID, 2)}, "ids", "2"),
		badPurge("purge of 501 ids", store.PurgeRequest{State: store.Dead, Limit: 1, IDs: make([]store.ID, 501)}, "ids", "501", "500"),
		badConfigure("0 partitions", store.Change{Partitions: pointer(0)}, "partitions", "0", "1024"),
		badConfigure("1025 partitions", store.Change{Partitions: pointer(1025)}, "partitions", "1025", "1024"),
		badConfigure("max body 0", store.Change{MaxBody: pointer(0)}, "max body", "0", "4194304"),
		badConfigure("large max body", store.Change{MaxBody: pointer(store.MaxBody + 1)}, "max body", "4194305", "4194304"),
		badConfigure("negative dead retention", store.Change{DeadRetention: pointer(int64(-1))}, "dead retention", "-1"),
		badConfigure("dead retention beyond 10 years", store.Change{DeadRetention: pointer(int64(store.MaxDelay + 1))}, "dead retention", "10 years"),
		badConfigure("negative history", store.Change{History: pointer(int64(-1))}, "history", "-1"),
		badConfigure("too many done messages", store.Change{MaxHistory: pointer(int64(store.MaxHistory + 1))}, "max history", "1000001"),
		badConfigure("negative max dead", store.Change{MaxDead: pointer(int64(-1))}, "max dead", "-1"),
		badConfigure("negative max messages", store.Change{MaxMessages: pointer(int64(-1))}, "max messages", "-1"),
		badBeat("negative ttl", store.BeatRequest{Client: "c", TTL: -1}, "ttl", "-1"),
		badBeat("negative version", store.BeatRequest{Client: "c", Known: -1}, "known", "-1"),
		badBeat("501 consumers", store.BeatRequest{Client: "c", Join: make([]store.Member, 300), Leave: make([]store.Member, 201)}, "consumers", "501", "500"),
		badDuties("of none", nil, "consumers", "0", "500"),
		badDuties("of 501 consumers", make([]store.DutyRequest, 501), "consumers", "501", "500"),
		badDuties("of no partition", []store.DutyRequest{{Queue: "orders", Consumer: "c"}}, "partitions", "0", "1024"),
		badNotice("help of none", store.Event{Kind: store.EventHelp}, "helpers", "0", "1000"),
		badNotice("help of too many", store.Event{Kind: store.EventHelp, Helpers: store.MaxRanked + 1}, "helpers", "1001", "1000"),
		badNotice("of another kind", store.Event{Kind: store.EventWake}, "event", "wake"),
		badNotice("of no partition", store.Event{Kind: store.EventLeft, Partition: -1}, "partition", "-1", "1023"),
		badLeave("leave of none", nil, "consumers", "0"),
		badLeave("leave of too many", make([]string, store.MaxBatch+1), "consumers", "501"),
		badCheck("limit 0", store.CheckRequest{}, "limit", "0", "1000"),
		badCheck("limit 1001", store.CheckRequest{Limit: 1001}, "limit", "1001", "1000"),
		badCheck("malformed cursor", store.CheckRequest{Limit: 1, Cursor: "no cursor!"}, "cursor"),
	}
}

func cancelN(ctx context.Context, g *rig, n int) error {
	refs := make([]store.Ref, n)
	for i := range refs {
		refs[i] = byID(g.message().ID)
	}
	_, err := g.s.Cancel(ctx, g.p, store.CancelRequest{Caller: "m", Number: 1, Refs: refs})
	return err
}

func rescheduleN(ctx context.Context, g *rig, n int) error {
	moves := make([]store.Move, n)
	for i := range moves {
		moves[i].Ref = byID(g.message().ID)
	}
	_, err := g.s.Reschedule(ctx, g.p, store.RescheduleRequest{Caller: "m", Number: 1, Moves: moves})
	return err
}

func redriveN(ctx context.Context, g *rig, n int) error {
	items := make([]store.Redrive, n)
	for i := range items {
		items[i].ID = g.message().ID
	}
	_, err := g.s.Redrive(ctx, g.p, store.RedriveRequest{Caller: "m", Number: 1, Items: items})
	return err
}

func badRef(name string, ref store.Ref, field string) bad {
	return bad{name, func(ctx context.Context, g *rig) error {
		_, cancel := g.s.Cancel(ctx, g.p, store.CancelRequest{Caller: "m", Number: 1, Refs: []store.Ref{byKey("k"), ref}})
		_, get := g.s.Get(ctx, g.p, ref)
		if cancel == nil || get == nil {
			return nil
		}
		return errors.Join(cancel, get)
	}, store.ErrInvalid, field, nil}
}

func badMove(name string, m store.Move, field string, says ...string) bad {
	return bad{"reschedule: " + name, func(ctx context.Context, g *rig) error {
		_, err := g.s.Reschedule(ctx, g.p, store.RescheduleRequest{Caller: "m", Number: 1, Moves: []store.Move{{Ref: byKey("k"), Delay: 1}, m}})
		return err
	}, store.ErrInvalid, field, says}
}

func badList(name string, r store.ListRequest, field string, says ...string) bad {
	return bad{"list: " + name, func(ctx context.Context, g *rig) error { _, err := g.s.List(ctx, g.p, r); return err }, store.ErrInvalid, field, says}
}

func badForecast(name string, r store.ForecastRequest, field string, says ...string) bad {
	return bad{"forecast " + name, func(ctx context.Context, g *rig) error { _, err := g.s.Forecast(ctx, g.p, r); return err }, store.ErrInvalid, field, says}
}

func badPurge(name string, r store.PurgeRequest, field string, says ...string) bad {
	r.Caller, r.Number = "m", 1
	return bad{name, func(ctx context.Context, g *rig) error { _, err := g.s.Purge(ctx, g.p, r); return err }, store.ErrInvalid, field, says}
}

func badConfigure(name string, c store.Change, field string, says ...string) bad {
	c.Create, c.Paused = true, pointer(true)
	return bad{name, func(ctx context.Context, g *rig) error { _, err := g.s.Configure(ctx, g.p.Queue, c); return err }, store.ErrInvalid, field, says}
}

func badBeat(name string, r store.BeatRequest, field string, says ...string) bad {
	return bad{"beat: " + name, func(ctx context.Context, g *rig) error { _, err := g.s.Beat(ctx, r); return err }, store.ErrInvalid, field, says}
}

func badDuties(name string, r []store.DutyRequest, field string, says ...string) bad {
	return bad{"duties " + name, func(ctx context.Context, g *rig) error { _, err := g.s.Duties(ctx, r); return err }, store.ErrInvalid, field, says}
}

func badNotice(name string, e store.Event, field string, says ...string) bad {
	return bad{"notice: " + name, func(ctx context.Context, g *rig) error { return g.s.Notify(ctx, g.p.Queue, e) }, store.ErrInvalid, field, says}
}

func badLeave(name string, consumers []string, field string, says ...string) bad {
	return bad{name, func(ctx context.Context, g *rig) error {
		return g.s.Leave(ctx, g.p, store.LeaveRequest{Consumers: consumers})
	}, store.ErrInvalid, field, says}
}

func badCheck(name string, r store.CheckRequest, field string, says ...string) bad {
	return bad{"check: " + name, func(ctx context.Context, g *rig) error { _, err := g.s.Check(ctx, g.p, r); return err }, store.ErrInvalid, field, says}
}

// badNames are names of queues, partitions, producers and consumers, for every method.
func badNames() []bad {
	var bads []bad
	for _, name := range []string{
		"", strings.Repeat("q", 129), "{x}", "a:b", "a*", "a?", "a[b", `a\b`, "a/b", "..", ".a", "-a", "_a", "a\nb", "a\x00", "a b", " a", "é", "😀", "\u202ea",
	} {
		bads = append(bads, badPartition(store.Partition{Queue: name}, "queue"))
	}
	for _, index := range []int{-1, store.MaxPartitions, 1 << 40} {
		bads = append(bads, badPartition(store.Partition{Queue: "orders", Index: index}, "partition"))
	}
	for _, name := range []string{"", strings.Repeat("c", 65), "a:b", "a|b", "a b", "é", "a\x00"} {
		bads = append(bads, badCaller(name)...)
	}
	return bads
}

// badPartition calls every method on a partition that cannot exist.
func badPartition(p store.Partition, field string) bad {
	return bad{fmt.Sprintf("partition %q", p), func(ctx context.Context, g *rig) error {
		there := g.at(p.Queue, p.Index)
		var all []error
		for _, c := range there.calls() {
			whole := slices.Contains([]string{"stats", "configure", "delete queue", "beat", "duties", "members", "notify"}, c.name) // these calls are about a queue
			if whole && (field == "partition" || p.Queue == "" && c.name == "stats") {
				continue
			}
			err := c.do(ctx)
			if !errors.Is(err, store.ErrInvalid) {
				return fmt.Errorf("%s is not refused: %v", c.name, err) //nolint:errorlint // it is not an error of the kind
			}
			all = append(all, err)
		}
		return errors.Join(all...)
	}, store.ErrInvalid, field, nil}
}

func badCaller(name string) []bad {
	said := fmt.Sprintf("%+q", name)
	if name == "" || len(name) > store.MaxCallerName {
		said = fmt.Sprint(len(name))
	}
	return []bad{
		badClaim("consumer "+said, "consumer", func(r *store.ClaimRequest) { r.Consumer = name }, said),
		badBeat("client "+said, store.BeatRequest{Client: name}, "client", said),
		badBeat("consumer "+said, store.BeatRequest{Client: "c", Join: []store.Member{{Queue: "orders", Consumer: name}}}, "consumer", said),
		badBeat("consumer on trial "+said, store.BeatRequest{Client: "c", Trial: []store.Member{{Queue: "orders", Consumer: name}}}, "consumer", said),
		badBeat("consumer that leaves "+said, store.BeatRequest{Client: "c", Leave: []store.Member{{Queue: "orders", Consumer: name}}}, "consumer", said),
		badDuties("of consumer "+said, []store.DutyRequest{{Queue: "orders", Consumer: name, Partitions: 1}}, "consumer", said),
		badLeave("consumer "+said, []string{"c", name}, "consumer", said),
		{"caller " + said, func(ctx context.Context, g *rig) error {
			_, cancel := g.s.Cancel(ctx, g.p, store.CancelRequest{Caller: name, Number: 1, Refs: []store.Ref{byKey("k")}})
			_, move := g.s.Reschedule(ctx, g.p, store.RescheduleRequest{Caller: name, Number: 1, Moves: []store.Move{{Ref: byKey("k")}}})
			_, redrive := g.s.Redrive(ctx, g.p, store.RedriveRequest{Caller: name, Number: 1, Items: redrives(g.message().ID)})
			_, purge := g.s.Purge(ctx, g.p, store.PurgeRequest{Caller: name, Number: 1, State: store.Ready, All: true, Limit: 1})
			if cancel == nil || move == nil || redrive == nil || purge == nil {
				return nil
			}
			return errors.Join(cancel, move, redrive, purge)
		}, store.ErrInvalid, "caller", []string{said}},
		{"producer " + said, func(ctx context.Context, g *rig) error {
			_, err := g.s.Push(ctx, g.p, store.PushRequest{Producer: name, Number: 1, Messages: []store.Message{g.message()}})
			return err
		}, store.ErrInvalid, "producer", []string{said}},
	}
}
