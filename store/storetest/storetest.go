// Package storetest is the conformance suite of the port in package store: it holds
// the promises that every store must keep.
//
// An adapter runs it with one line in its tests:
//
//	func TestConformance(t *testing.T) { storetest.Run(t, open) }
//
// Test names begin with the promise they hold. After every test the store is
// audited (see [Audit]). What an adapter's harness lacks is printed, and the tests
// that need it are skipped by name.
//
// Flags: -storetest.steps (operations of one run of the model test, on average),
// -rapid.checks (runs), -rapid.seed (to repeat a failure).
package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Harness is one fresh store under test and the handles on its surroundings. A nil
// handle is a feature the adapter lacks.
type Harness struct {
	// Store is empty and nobody else uses it.
	Store store.Store

	// Now and Advance are set together: the clock is moved by hand, backwards too.
	// Without them the clock is real, and tests wait by the store's own word.
	Now     func() time.Time
	Advance func(d time.Duration)

	// ExpireLeases makes all leases of a partition run out at once, in their order,
	// behind the store's back. Without it, tests let a lease of MinLease pass.
	ExpireLeases func(t testing.TB, p store.Partition)

	// Reopen returns another store on the same data, as after a restart of the process.
	Reopen func(t testing.TB) store.Store

	// FillUp makes the store refuse more data, and
	// returns what undoes it.
	FillUp func(t testing.TB) (undo func())

	// ModelSteps is how many operations a run of the model test makes on average;
	// 0 is 30.
	ModelSteps int
}

// feature is something a harness can lack.
type feature string

const (
	manualClock feature = "ManualClock"
	reopening   feature = "Reopen"
	fillingUp   feature = "FillUp"
	expiring    feature = "ExpireLeases"
)

func (h Harness) has(f feature) bool {
	switch f {
	case manualClock:
		return h.Advance != nil
	case reopening:
		return h.Reopen != nil
	case fillingUp:
		return h.FillUp != nil
	case expiring:
		return h.ExpireLeases != nil || h.Advance != nil
	}
	return false
}

// testCase is one test of a group.
type testCase struct {
	name  string
	needs feature // "" is none
	run   func(d *desk)
}

// closing are the tests after which there is no store to audit.
var closing = []string{"Close", "CloseEndsWatch"}

// Run holds the store that open returns to every promise of the port. open is
// called once for each test and must clean up with t.Cleanup; tests run in parallel.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Run("Lacks", func(t *testing.T) { reportLacking(t, open(t)) })
	groups := []struct {
		name  string
		cases []testCase
	}{
		{"Promise1NothingLost", nothingLost()},
		{"Promise2NeverEarly", neverEarly()},
		{"Promise3OneHolder", oneHolder()},
		{"Promise4IdempotentPush", idempotentPush()},
		{"Promise4IdempotentClaim", idempotentClaim()},
		{"Promise4IdempotentSettle", idempotentSettle()},
		{"Promise4IdempotentManagement", idempotentManagement()},
		{"Promise5OneLiveMessagePerKey", oneLiveMessagePerKey()},
		{"Promise6Cancel", definiteCancel()},
		{"Promise6Reschedule", definiteReschedule()},
		{"Promise7BoundedWork", boundedWork()},
		{"Promise8ReleaseBurnsNothing", releaseBurnsNothing()},
		{"Snooze", snoozing()},
		{"Again", repeating()},
		{"Next", following()},
		{"Recurring", recurring()},
		{"Remembering", remembering()},
		{"Promise9CrashesBreakNothing", crashesBreakNothing()},
		{"Promise9OnlyTheStartedFail", onlyTheStartedFail()},
		{"Promise10FullStoreDrains", fullStoreDrains()},
		{"Expiry", expiry()},
		{"DeadLetters", deadLetters()},
		{"DeadRetention", deadRetention()},
		{"History", histories()},
		{"Purge", purge()},
		{"Reading", reading()},
		{"Holders", holders()},
		{"Settings", settings()},
		{"SettingsByVersion", settingsByVersion()},
		{"DeleteQueue", deletion()},
		{"Stats", statistics()},
		{"Consumers", consumers()},
		{"Events", events()},
		{"Lifecycle", lifecycle()},
		{"BadInput", badInput()},
		{"Audit", audits()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			runCases(t, open, g.cases)
		})
	}
	t.Run("Model", func(t *testing.T) {
		t.Parallel()
		runModel(t, open(t))
	})
	t.Run("Concurrent", func(t *testing.T) {
		t.Parallel()
		if h := open(t); h.Advance == nil {
			Concurrent(t, h)
			return
		}
		t.Skip("needs a real clock: the adapter's tests call storetest.Concurrent with one")
	})
}

func runCases(t *testing.T, open func(t *testing.T) Harness, cases []testCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			if c.needs != "" && !h.has(c.needs) {
				t.Skipf("the harness lacks %s", c.needs)
			}
			d := newDesk(t, h)
			c.run(d)
			if !slices.Contains(closing, c.name) {
				Audit(t, h.Store)
			}
		})
	}
}

// reportLacking names each missing feature as a skipped test, so that no run can
// be mistaken for a complete one.
func reportLacking(t *testing.T, h Harness) {
	for _, f := range []feature{manualClock, reopening, fillingUp, expiring} {
		if h.has(f) {
			continue
		}
		t.Run(string(f), func(t *testing.T) { t.Skip("the harness lacks it: the tests that need it are skipped") })
	}
	if _, err := h.Store.Stats(t.Context(), ""); err != nil {
		t.Fatalf("a fresh store does not answer: %v", err)
	}
}
