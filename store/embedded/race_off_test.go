//go:build !race

package embedded

// How long the tests of scripts are, see race_on_test.go.
const (
	crashCallsUsual    = 300
	survivalUsual      = 250
	repairsUsual       = 6
	callersRoundsUsual = 25
	failuresEach       = 1
	repairRoundsUsual  = 300
	shortProcesses     = 400
)
