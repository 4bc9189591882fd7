package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/store"
)

func membersCases() []testCase {
	return []testCase{
		{"ComeAndGo", "", testMembers},
		{"SilentClientLosesItsConsumers", "", testMembersSilent},
		{"LeavingClientTakesItsConsumersAlong", "", testMembersLeave},
		{"VersionChangesWithConsumers", "", testMembersVersion},
		{"DutiesAreEvenAndAgreed", "", testDuties},
		{"FewDutiesMove", "", testDutiesMove},
		{"DutiesOfMorePartitions", "", testDutiesGrow},
		{"UnknownConsumerHasNoDuty", "", testDutiesUnknown},
		{"OnTrialWithoutDuties", "", testTrial},
		{"EventsOfConsumersAreHeard", "", testNotify},
	}
}

// joins returns consumers of a queue.
func joins(queue string, consumers ...string) []store.Member {
	var all []store.Member
	for _, c := range consumers {
		all = append(all, store.Member{Queue: queue, Consumer: c})
	}
	return all
}

func (g *rig) beat(r store.BeatRequest) store.BeatResult {
	g.t.Helper()
	result, err := g.s.Beat(g.t.Context(), r)
	g.noError("beat", err)
	return result
}

// members returns the consumers of d's queue, each with its client.
func (g *rig) members() (names []string) {
	g.t.Helper()
	all, err := g.s.Members(g.t.Context(), g.p.Queue)
	g.noError("members", err)
	for _, m := range all {
		g.wantEqual("queue", m.Queue, g.p.Queue)
		names = append(names, m.Consumer+"@"+m.Client+map[bool]string{true: " on trial"}[m.Trial])
	}
	return names
}

// duties returns the names of the consumers on duty for each partition, and checks that every
// consumer gets the same answer.
func (g *rig) duties(partitions int, consumers ...string) []string {
	g.t.Helper()
	slices.Sort(consumers)
	var requests []store.DutyRequest
	for _, c := range consumers {
		requests = append(requests, store.DutyRequest{Queue: g.p.Queue, Consumer: c, Partitions: partitions})
	}
	all, err := g.s.Duties(g.t.Context(), requests)
	g.noError("duties", err)
	for i, one := range all {
		g.wantEqual("index of "+consumers[i], one.Index, i)
		g.wantEqual("consumers", one.Consumers, len(consumers))
		g.wantEqual("owners as seen by "+consumers[i], one.Owners, all[0].Owners)
	}
	names := make([]string, partitions)
	for p, owner := range all[0].Owners {
		names[p] = consumers[owner]
	}
	return names
}

func testMembers(g *rig) {
	g.configure(store.Change{Create: true})
	g.wantEqual("first beat", g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, "b")}).Unknown, true)
	g.wantEqual("members", g.members(), []string{"b@x"})
	g.beat(store.BeatRequest{Client: "y", TTL: hour, Join: slices.Concat(joins(g.p.Queue, "a"), joins("refunds", "z"))})
	g.wantEqual("members", g.members(), []string{"a@y", "b@x"})
	g.wantEqual("known", g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, "C")}).Unknown, false)
	g.wantEqual("members", g.members(), []string{"C@x", "a@y", "b@x"})
	g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, "C")})
	g.wantEqual("repeated", g.members(), []string{"C@x", "a@y", "b@x"})
	g.wantEqual("count", g.stats().Consumers, 3)
	g.wantEqual("of another queue", g.at("refunds", 0).members(), []string{"z@y"})
	g.beat(store.BeatRequest{Client: "x", TTL: hour, Leave: joins(g.p.Queue, "b")})
	g.wantEqual("after leaving", g.members(), []string{"C@x", "a@y"})
	g.beat(store.BeatRequest{Client: "x", TTL: hour, Leave: joins(g.p.Queue, "b")})
	g.wantEqual("leaving repeated", g.members(), []string{"C@x", "a@y"})
	g.wantEqual("count", g.stats().Consumers, 2)
}

func testMembersSilent(g *rig) {
	g.configure(store.Change{Create: true})
	g.beat(store.BeatRequest{Client: "dying", TTL: 40, Join: joins(g.p.Queue, "a", "b")})
	before := g.beat(store.BeatRequest{Client: "living", TTL: hour, Join: joins(g.p.Queue, "c")})
	g.pass(41 * time.Millisecond)
	g.wantEqual("members", g.members(), []string{"c@living"})
	g.wantEqual("count", g.stats().Consumers, 1)
	after := g.beat(store.BeatRequest{Client: "living", TTL: hour, Known: before.Version})
	g.wantEqual("changed", after.Changed, []string{g.p.Queue})
	g.wantEqual("duties", g.duties(1, "c"), []string{"c"})
	again := g.beat(store.BeatRequest{Client: "dying", TTL: hour})
	g.wantEqual("unknown", again.Unknown, true)
	g.wantEqual("members", g.members(), []string{"c@living"})
}

func testMembersLeave(g *rig) {
	var many []string
	for i := range 700 {
		many = append(many, fmt.Sprintf("c%03d", i))
	}
	g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, many[:500]...)})
	g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, many[500:]...)})
	g.beat(store.BeatRequest{Client: "y", TTL: hour, Join: joins(g.p.Queue, "other")})
	g.wantEqual("members", len(g.members()), 701)
	g.beat(store.BeatRequest{Client: "x"})
	g.wantEqual("members", g.members(), []string{"other@y"})
	g.beat(store.BeatRequest{Client: "x"})
	g.wantEqual("after leaving again", g.members(), []string{"other@y"})
}

func testMembersVersion(g *rig) {
	first := g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: slices.Concat(joins("b", "1"), joins("a", "2"))})
	g.wantEqual("nothing was known", first.Changed, []string(nil))
	same := g.beat(store.BeatRequest{Client: "x", TTL: hour, Known: first.Version})
	g.wantEqual("version", same.Version, first.Version)
	g.wantEqual("changed", same.Changed, []string(nil))
	g.beat(store.BeatRequest{Client: "y", TTL: hour, Join: joins("b", "3")})
	next := g.beat(store.BeatRequest{Client: "x", TTL: hour, Known: first.Version})
	g.wantEqual("changed", next.Changed, []string{"b"})
	if next.Version <= first.Version {
		g.t.Fatalf("version %d after %d", next.Version, first.Version)
	}
	g.beat(store.BeatRequest{Client: "y", TTL: hour, Join: slices.Concat(joins("a", "4"), joins("c", "5"))})
	all := g.beat(store.BeatRequest{Client: "x", TTL: hour, Known: first.Version})
	slices.Sort(all.Changed)
	g.wantEqual("changed", all.Changed, []string{"a", "b", "c"})
	g.wantEqual("more", all.More, false)
	var many []store.Member
	for i := range 500 {
		many = append(many, store.Member{Queue: fmt.Sprintf("q%03d", i), Consumer: "c"})
	}
	g.beat(store.BeatRequest{Client: "y", TTL: hour, Join: many})
	g.beat(store.BeatRequest{Client: "y", TTL: hour, Join: joins("last", "c")})
	most := g.beat(store.BeatRequest{Client: "x", TTL: hour, Known: all.Version})
	g.wantEqual("changed", len(most.Changed), 500)
	g.wantEqual("more", most.More, true)
}

func testDuties(g *rig) {
	g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, "c", "a")})
	g.beat(store.BeatRequest{Client: "y", TTL: hour, Join: slices.Concat(joins(g.p.Queue, "b"), joins(g.p.Queue+"a", "z"), joins("a", "z"))})
	n := map[string]int{}
	for _, owner := range g.duties(7, "a", "b", "c") {
		n[owner]++
	}
	if len(n) != 3 || slices.Max([]int{n["a"], n["b"], n["c"]}) != 3 || min(n["a"], n["b"], n["c"]) != 2 {
		g.t.Fatalf("partitions of each consumer %v, want 2 or 3 of 7", n)
	}
}

func testDutiesMove(g *rig) {
	g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, "a", "b", "c")})
	before := g.duties(12, "a", "b", "c")
	g.beat(store.BeatRequest{Client: "y", TTL: hour, Join: joins(g.p.Queue, "d")})
	after := g.duties(12, "a", "b", "c", "d")
	for p := range after {
		if after[p] != before[p] && after[p] != "d" {
			g.t.Fatalf("partition %d moved from %s to %s when d joined", p, before[p], after[p])
		}
	}
	g.wantEqual("partitions of d", strings.Count(strings.Join(after, ""), "d"), 3)
	all, err := g.s.Members(g.t.Context(), g.p.Queue)
	g.noError("members", err)
	for _, m := range all {
		for _, p := range m.Duties {
			g.wantEqual(fmt.Sprintf("consumer on duty for partition %d", p), m.Consumer, after[p])
		}
		g.wantEqual("partitions of "+m.Consumer, len(m.Duties), 3)
	}
	g.beat(store.BeatRequest{Client: "y"})
	g.wantEqual("without d", strings.Count(strings.Join(g.duties(12, "a", "b", "c"), ""), "a"), 4)
}

// Clients that believe in fewer partitions than others get the same answer for those.
func testDutiesGrow(g *rig) {
	g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, "a", "b")})
	g.duties(4, "a", "b")
	all := g.duties(9, "a", "b")
	g.wantEqual("of fewer partitions", g.duties(4, "a", "b"), all[:4])
	g.wantEqual("of all", g.duties(9, "a", "b"), all)
}

func testDutiesUnknown(g *rig) {
	ask := func() store.Duties {
		all, err := g.s.Duties(g.t.Context(), []store.DutyRequest{{Queue: g.p.Queue, Consumer: "a", Partitions: 2}})
		g.noError("duties", err)
		return all[0]
	}
	g.wantEqual("of a queue without consumers", ask(), store.Duties{Index: -1, Owners: []int{-1, -1}})
	g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, "b")})
	g.wantEqual("of a queue with another consumer", ask(), store.Duties{Consumers: 1, Index: -1, Owners: []int{0, 0}})
}

func testNotify(g *rig) {
	events := g.watch()
	help := store.Event{Kind: store.EventHelp, Partition: 5, Helpers: 3}
	g.noError("notify", g.s.Notify(g.t.Context(), g.p.Queue, help))
	left := store.Event{Kind: store.EventLeft, Partition: 7}
	g.noError("notify", g.s.Notify(g.t.Context(), g.p.Queue, left))
	events.want("two of consumers", help, left)
}

func testTrial(g *rig) {
	g.configure(store.Change{Create: true})
	first := g.beat(store.BeatRequest{Client: "x", TTL: hour, Join: joins(g.p.Queue, "b")})
	for range 2 {
		g.beat(store.BeatRequest{Client: "y", TTL: hour, Trial: joins(g.p.Queue, "a", "c")})
	}
	g.wantEqual("members", g.members(), []string{"a@y on trial", "b@x", "c@y on trial"})
	g.wantEqual("count", g.stats().Consumers, 3)
	g.wantEqual("version", g.beat(store.BeatRequest{Client: "x", TTL: hour, Known: first.Version}), store.BeatResult{Version: first.Version})
	all, err := g.s.Duties(g.t.Context(), []store.DutyRequest{{Queue: g.p.Queue, Consumer: "a", Partitions: 1}})
	g.noError("duties", err)
	g.wantEqual("duties of one on trial", all, []store.Duties{{Consumers: 1, Index: -1, Owners: []int{0}}})
	g.beat(store.BeatRequest{Client: "y", TTL: hour, Join: joins(g.p.Queue, "a")})
	g.wantEqual("members", g.members(), []string{"a@y", "b@x", "c@y on trial"})
	g.duties(2, "a", "b")
	g.beat(store.BeatRequest{Client: "y"})
	g.wantEqual("members", g.members(), []string{"b@x"})
	g.beat(store.BeatRequest{Client: "x"})
	g.beat(store.BeatRequest{Client: "z", TTL: hour, Trial: joins(g.p.Queue, "a")})
	all, err = g.s.Duties(g.t.Context(), []store.DutyRequest{{Queue: g.p.Queue, Consumer: "a", Partitions: 1}})
	g.noError("duties", err)
	g.wantEqual("when none has joined", all, []store.Duties{{Index: -1, Owners: []int{-1}}})
}
