//go:build unix

package measure

import (
	"syscall"
	"time"
)

// CPU returns the CPU time that this process has used so far, user and system.
func CPU() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, err
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}
