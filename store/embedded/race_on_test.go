//go:build race

package embedded

// THE RACE DETECTOR RUNS LESS. Tests whose calls are made one at a time, on disks in memory,
// have nothing for it to find that a short run would not show: it makes them ten times as
// slow and no better. So under -race they run the smaller numbers of this file. Their full
// length is in race_off_test.go, and every change is tested without -race, too.
const (
	crashCallsUsual    = 60
	survivalUsual      = 60
	repairsUsual       = 2
	callersRoundsUsual = 10
	failuresEach       = 11 // of TestFailure_AnywhereIsSurvived: one of this many operations fails
	repairRoundsUsual  = 20
	shortProcesses     = 40
)
