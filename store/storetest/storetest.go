// Package storetest is the conformance suite of the port in package store: every store must pass it.
//
// An adapter runs it with one line in its tests:
//
//	func TestConformance(t *testing.T) { storetest.Run(t, open) }
//
// Groups of tests are named after the method that they test, then what it must do. After every test
// the store is audited (see [Audit]). Features that an adapter's harness lacks are printed, and the
// tests that need them are skipped by name.
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

// Harness is one empty store under test, with functions that control its environment. A nil function
// is a feature that the adapter lacks.
type Harness struct {
	// Store is empty and not used by others.
	Store store.Store

	// Now and Advance read and move a manual clock, backwards too. Both are set or neither.
	// Without them the clock is real, and tests wait as long as the store's Wait.
	Now     func() time.Time
	Advance func(d time.Duration)

	// ExpireLeases changes the data so that all leases of a partition have run out, in their
	// order. Without it, tests wait until a lease of MinLease runs out.
	ExpireLeases func(t testing.TB, p store.Partition)

	// Reopen returns another store on the same data, as after a restart of the process.
	Reopen func(t testing.TB) store.Store

	// FillUp makes the store refuse more data, and returns a function that undoes it.
	FillUp func(t testing.TB) (undo func())

	// ModelSteps is how many operations a run of the model test makes on average;
	// 0 is 30.
	ModelSteps int

	// Timeout, if set, bounds the calls of one test, all together. Without it they have no
	// deadline, and a store has its own bound for each, which a busy machine may exceed.
	Timeout time.Duration
}

// feature is a feature that a harness can lack.
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
	needs feature // "": none
	run   func(g *rig)
}

// closing are the tests after which there is no store to audit.
var closing = []string{"Close", "CloseEndsWatch"}

// Run runs all tests of the suite. It calls open once for each test; open must clean up with
// t.Cleanup, and tests run in parallel.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Run("Lacks", func(t *testing.T) { reportLacking(t, open(t)) })
	groups := []struct {
		name  string
		cases []testCase
	}{
		{"Claim_UntilAcked", nothingLost()},
		{"Claim_NeverEarly", neverEarly()},
		{"Claim_OneHolder", oneHolder()},
		{"Push_Repeated", idempotentPush()},
		{"Claim_Repeated", idempotentClaim()},
		{"Settle_Repeated", idempotentSettle()},
		{"Manage_Repeated", idempotentManagement()},
		{"Push_OneLiveMessagePerKey", oneLiveMessagePerKey()},
		{"Cancel", definiteCancel()},
		{"Reschedule", definiteReschedule()},
		{"Claim_BoundedWork", boundedWork()},
		{"Release_UsesUpNoAttempt", releases()},
		{"Snooze", snoozing()},
		{"Again", repeating()},
		{"Next", following()},
		{"Recurring", recurring()},
		{"Remembering", remembering()},
		{"Claim_HolderCrashed", crashes()},
		{"Start_OnlyStartedFail", onlyStartedFail()},
		{"Push_FullStore", fullStore()},
		{"Expiry", expiry()},
		{"DeadLetters", deadLetters()},
		{"DeadRetention", deadRetention()},
		{"History", histories()},
		{"Purge", purge()},
		{"Reading", reading()},
		{"Restore", restoring()},
		{"Holders", holders()},
		{"Settings", settings()},
		{"SettingsByVersion", settingsByVersion()},
		{"Growing", growing()},
		{"DeleteQueue", deletion()},
		{"Stats", statistics()},
		{"Members", membersCases()},
		{"Events", events()},
		{"Lifecycle", lifecycle()},
		{"BadInput", badInput()},
		{"Audit", audits()},
	}
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			runCases(t, open, group.cases)
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
			g := newRig(t, h)
			c.run(g)
			if !slices.Contains(closing, c.name) {
				Audit(t, h.Store)
			}
		})
	}
}

// reportLacking reports each missing feature as a skipped test, so that an incomplete run is not
// taken for a complete one.
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
