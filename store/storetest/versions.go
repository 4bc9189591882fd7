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

func testClientDefaults(d *desk) {
	want := defaults
	want.MaxAttempts, want.Lease, want.BackoffBase, want.BackoffMost = 7, 90_000, 250, 3_600_000
	change := store.Change{
		Create: true, MaxAttempts: pointer(7), Lease: pointer(int64(90_000)),
		BackoffBase: pointer(int64(250)), BackoffMost: pointer(int64(3_600_000)),
	}
	d.wantEqual("settings", d.configure(change), want)
	if d.h.Reopen != nil {
		d.s = d.h.Reopen(d.t)
	}
	d.wantEqual("settings", d.configure(store.Change{}), want)
	want.Lease = 0
	d.wantEqual("settings", d.configure(store.Change{Lease: pointer(int64(0))}), want)
	d.wantEqual("settings", d.configure(store.Change{}), want)
}

// change is what Configure answers: with the version.
func (d *desk) change(c store.Change) (store.Settings, error) {
	return d.s.Configure(d.t.Context(), d.p.Queue, c)
}

// changed fails the test unless the change succeeds.
func (d *desk) changed(c store.Change) store.Settings {
	d.t.Helper()
	s, err := d.change(c)
	d.noError("configure", err)
	return s
}

func testChangedIf(d *desk) {
	_, err := d.change(store.Change{If: 1, Token: "a", MaxBody: pointer(5)})
	if !errors.Is(err, store.ErrNotFound) {
		d.t.Fatalf("of a queue that does not exist: %v, want ErrNotFound", err)
	}
	first := d.changed(store.Change{Create: true})
	if first.Version < 1 {
		d.t.Fatalf("version %d, want it positive", first.Version)
	}
	second := d.changed(store.Change{If: first.Version, Token: "a", MaxBody: pointer(5)})
	if second.Version <= first.Version || second.MaxBody != 5 {
		d.t.Fatalf("%+v, want a later version than %d", second, first.Version)
	}
	_, err = d.change(store.Change{If: first.Version, Token: "b", MaxBody: pointer(6)})
	if !errors.Is(err, store.ErrConflict) {
		d.t.Fatalf("a change of an old version: %v, want ErrConflict", err)
	}
	d.wantEqual("settings", d.changed(store.Change{}), second)
	d.wantEqual("unchanged", d.changed(store.Change{If: second.Version, Token: "c", MaxBody: pointer(5)}), second)
}

// The reply of a change was lost: its repetition is answered with what it has done, unless
// others have changed the settings since.
func testChangeRepeated(d *desk) {
	first := d.changed(store.Change{Create: true})
	mine := store.Change{If: first.Version, Token: "mine", MaxMessages: pointer(int64(8))}
	second := d.changed(mine)
	if d.h.Reopen != nil {
		d.s = d.h.Reopen(d.t)
	}
	d.wantEqual("repeated", d.changed(mine), second)
	third := d.changed(store.Change{If: second.Version, Token: "theirs", MaxMessages: pointer(int64(9))})
	_, err := d.change(mine)
	if !errors.Is(err, store.ErrConflict) {
		d.t.Fatalf("repeated after another change: %v, want ErrConflict", err)
	}
	d.wantEqual("settings", d.changed(store.Change{}), third)
}

func testMadeIfMissing(d *desk) {
	mine := store.Change{Create: true, If: store.IfMissing, Token: "mine", Partitions: pointer(2)}
	made := d.changed(mine)
	d.wantEqual("repeated", d.changed(mine), made)
	_, err := d.change(store.Change{Create: true, If: store.IfMissing, Token: "theirs", Partitions: pointer(3)})
	if !errors.Is(err, store.ErrConflict) {
		d.t.Fatalf("of a queue that exists: %v, want ErrConflict", err)
	}
	d.wantEqual("settings", d.changed(store.Change{}), made)
}

func testKnown(d *desk) {
	if s, ok := d.s.Known(d.p.Queue); ok {
		d.t.Fatalf("a queue that does not exist is known: %+v", s)
	}
	d.send()
	s, ok := d.s.Known(d.p.Queue)
	if !ok || content(s) != defaults {
		d.t.Fatalf("after a push: %+v, %t", s, ok)
	}
	changed := d.changed(store.Change{MaxAttempts: pointer(3)})
	if s, ok = d.s.Known(d.p.Queue); !ok || s != changed {
		d.t.Fatalf("after a change: %+v, %t, want %+v", s, ok, changed)
	}
}

func testClientDefaultsChecked(d *desk) {
	for _, b := range []bad{
		badConfigure("1001 attempts", store.Change{MaxAttempts: pointer(1001)}, "max attempts", "1001", "1000"),
		badConfigure("negative attempts", store.Change{MaxAttempts: pointer(-1)}, "max attempts", "-1"),
		badConfigure("short lease", store.Change{Lease: pointer(int64(999))}, "lease", "999", "1000"),
		badConfigure("half a backoff", store.Change{BackoffBase: pointer(int64(1))}, "backoff", "both or none"),
		badConfigure("backoff that shrinks", store.Change{BackoffBase: pointer(int64(9)), BackoffMost: pointer(int64(8))}, "backoff", "9", "8"),
		badConfigure("no version", store.Change{If: -2, Token: "a"}, "if", "-2"),
		badConfigure("no token", store.Change{If: 1}, "token"),
	} {
		err := b.do(context.WithoutCancel(d.t.Context()), d)
		d.wantInvalid(b.name, err, b.kind, b.field, b.says...)
	}
}
