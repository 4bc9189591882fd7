//go:build unix

package bench

import "syscall"

// processCPU is how many us of CPU time this process has used, user and system.
func processCPU() Figure {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return unknown()
	}
	return Figure(float64(u.Utime.Sec+u.Stime.Sec)*1e6 + float64(u.Utime.Usec+u.Stime.Usec))
}
