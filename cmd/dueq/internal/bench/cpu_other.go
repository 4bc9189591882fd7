//go:build !unix

package bench

// processCPU is not known here.
func processCPU() Figure { return unknown() }
