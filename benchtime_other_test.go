//go:build !unix

package dueq_test

import "testing"

// processorTime ends the benchmark: only on Unix is it known.
func processorTime(b *testing.B) float64 {
	b.Helper()
	b.Skip("needs getrusage")
	return 0
}
