package storetest

import (
	"context"
	"errors"

	"github.com/dueq-dev/dueq/store"
)

func settingsByVersion() []testCase {
	return []testCase{
		{"DefaultsOfClientsAreKept", "", testClientDefaults},
		{"ChangedOnlyIfUnchanged", "", testChangedIf},
		{"RepeatedChange", "", testChangeRepeated},
		{"MadeOnlyIfMissing", "", testMadeIfMissing},
		{"Known", "", testKnown},
		{"DefaultsOfClientsAreChecked", "", testClientDefaultsChecked},
	}
}

func testClientDefaults(g *rig) {
	want := defaults
	want.MaxAttempts, want.Lease, want.BackoffBase, want.BackoffMost = 7, 90_000, 250, 3_600_000
	change := store.Change{
		Create: true, MaxAttempts: pointer(7), Lease: pointer(int64(90_000)),
		BackoffBase: pointer(int64(250)), BackoffMost: pointer(int64(3_600_000)),
	}
	g.wantEqual("settings", g.configure(change), want)
	if g.h.Reopen != nil {
		g.s = g.h.Reopen(g.t)
	}
	g.wantEqual("settings", g.configure(store.Change{}), want)
	want.Lease = 0
	g.wantEqual("settings", g.configure(store.Change{Lease: pointer(int64(0))}), want)
	g.wantEqual("settings", g.configure(store.Change{}), want)
}

// change is what Configure answers: with the version.
func (g *rig) change(c store.Change) (store.Settings, error) {
	return g.s.Configure(g.t.Context(), g.p.Queue, c)
}

// changed fails the test unless the change succeeds.
func (g *rig) changed(c store.Change) store.Settings {
	g.t.Helper()
	s, err := g.change(c)
	g.noError("configure", err)
	return s
}

func testChangedIf(g *rig) {
	_, err := g.change(store.Change{If: 1, Token: "a", MaxBody: pointer(5)})
	if !errors.Is(err, store.ErrNotFound) {
		g.t.Fatalf("of a queue that does not exist: %v, want ErrNotFound", err)
	}
	first := g.changed(store.Change{Create: true})
	if first.Version < 1 {
		g.t.Fatalf("version %d, want it positive", first.Version)
	}
	second := g.changed(store.Change{If: first.Version, Token: "a", MaxBody: pointer(5)})
	if second.Version <= first.Version || second.MaxBody != 5 {
		g.t.Fatalf("%+v, want a later version than %d", second, first.Version)
	}
	_, err = g.change(store.Change{If: first.Version, Token: "b", MaxBody: pointer(6)})
	if !errors.Is(err, store.ErrConflict) {
		g.t.Fatalf("a change of an old version: %v, want ErrConflict", err)
	}
	g.wantEqual("settings", g.changed(store.Change{}), second)
	g.wantEqual("unchanged", g.changed(store.Change{If: second.Version, Token: "c", MaxBody: pointer(5)}), second)
}

// The reply of a change was lost: its repetition is answered with what it has done, unless
// others have changed the settings since.
func testChangeRepeated(g *rig) {
	first := g.changed(store.Change{Create: true})
	mine := store.Change{If: first.Version, Token: "mine", MaxMessages: pointer(int64(8))}
	second := g.changed(mine)
	if g.h.Reopen != nil {
		g.s = g.h.Reopen(g.t)
	}
	g.wantEqual("repeated", g.changed(mine), second)
	third := g.changed(store.Change{If: second.Version, Token: "theirs", MaxMessages: pointer(int64(9))})
	_, err := g.change(mine)
	if !errors.Is(err, store.ErrConflict) {
		g.t.Fatalf("repeated after another change: %v, want ErrConflict", err)
	}
	g.wantEqual("settings", g.changed(store.Change{}), third)
}

func testMadeIfMissing(g *rig) {
	mine := store.Change{Create: true, If: store.IfMissing, Token: "mine", Partitions: pointer(2)}
	made := g.changed(mine)
	g.wantEqual("repeated", g.changed(mine), made)
	_, err := g.change(store.Change{Create: true, If: store.IfMissing, Token: "theirs", Partitions: pointer(3)})
	if !errors.Is(err, store.ErrConflict) {
		g.t.Fatalf("of a queue that exists: %v, want ErrConflict", err)
	}
	g.wantEqual("settings", g.changed(store.Change{}), made)
}

func testKnown(g *rig) {
	if s, ok := g.s.Known(g.p.Queue); ok {
		g.t.Fatalf("a queue that does not exist is known: %+v", s)
	}
	g.send()
	s, ok := g.s.Known(g.p.Queue)
	if !ok || content(s) != defaults {
		g.t.Fatalf("after a push: %+v, %t", s, ok)
	}
	changed := g.changed(store.Change{MaxAttempts: pointer(3)})
	if s, ok = g.s.Known(g.p.Queue); !ok || s != changed {
		g.t.Fatalf("after a change: %+v, %t, want %+v", s, ok, changed)
	}
}

func testClientDefaultsChecked(g *rig) {
	for _, b := range []bad{
		badConfigure("1001 attempts", store.Change{MaxAttempts: pointer(1001)}, "max attempts", "1001", "1000"),
		badConfigure("negative attempts", store.Change{MaxAttempts: pointer(-1)}, "max attempts", "-1"),
		badConfigure("short lease", store.Change{Lease: pointer(int64(999))}, "lease", "999", "1s"),
		badConfigure("half a backoff", store.Change{BackoffBase: pointer(int64(1))}, "backoff", "both or none"),
		badConfigure("backoff that shrinks", store.Change{BackoffBase: pointer(int64(9)), BackoffMost: pointer(int64(8))}, "backoff", "9", "8"),
		badConfigure("no version", store.Change{If: -2, Token: "a"}, "if", "-2"),
		badConfigure("no token", store.Change{If: 1}, "token"),
	} {
		err := b.do(context.WithoutCancel(g.t.Context()), g)
		g.wantInvalid(b.name, err, b.kind, b.field, b.says...)
	}
}
