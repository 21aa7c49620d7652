//go:build unix

package telemetry

import "syscall"

// cpuSeconds is the time that the process has had on processors.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// fileLimit is how many files may be open; 0 when that is not known.
func fileLimit() float64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return float64(limit.Cur)
}
